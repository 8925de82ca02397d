import Jobs
import Logging
import Metrics

/// Tells log and metrics about attempts: identifiers, outcomes and durations, never what a job was given or gave.
struct AttemptReport: Sendable {
    let logger: Logger
    private let succeeded = Counter(label: "halyard_attempts", dimensions: [("outcome", "succeeded")])
    private let failed = Counter(label: "halyard_attempts", dimensions: [("outcome", "failed")])
    private let retried = Counter(label: "halyard_attempts", dimensions: [("outcome", "retried")])
    private let cancelled = Counter(label: "halyard_attempts", dimensions: [("outcome", "cancelled")])
    private let interrupted = Counter(label: "halyard_attempts", dimensions: [("outcome", "interrupted")])
    private let leaseLost = Counter(label: "halyard_attempts", dimensions: [("outcome", "lease_lost")])
    private let duration = Timer(label: "halyard_attempt_duration")
    private let exchange = Timer(label: "halyard_exchange_duration")

    init(logger: Logger) { self.logger = logger }

    func exchanged(in duration: Duration) { exchange.recordNanoseconds(duration.nanoseconds) }

    /// After the end was recorded, or refused.
    func ended(_ ended: ClaimLoop.EndedAttempt, _ result: FinishResult) {
        duration.recordNanoseconds(ended.took.nanoseconds)
        if result == .leaseLost {
            leaseLost.increment()
            log(.notice, "lease lost; the result is dropped", ended, event: "lease-lost", outcome: "lease_lost")
            return
        }
        // Asked for while the attempt came to another end.
        if result == .recorded(.cancelled) {
            cancelled.increment()
            log(.info, "attempt cancelled", ended, event: "attempt-cancelled", outcome: "cancelled")
            return
        }
        switch ended.ending {
        case .succeeded:
            succeeded.increment()
            log(.info, "attempt succeeded", ended, event: "attempt-succeeded", outcome: "succeeded")
        case .failed(let failure, let timedOut):
            failed.increment()
            log(
                .warning, "job failed", ended, event: "job-failed", outcome: timedOut ? "timed_out" : "failed",
                code: failure.code)
        case .retry(let failure, let timedOut, _):
            retried.increment()
            log(
                .notice, "attempt failed; the job is tried again in \((ended.wait ?? .zero).human)", ended,
                event: "attempt-retried", outcome: timedOut ? "timed_out" : "failed", code: failure.code)
        case .cancelled:
            cancelled.increment()
            log(.info, "attempt cancelled", ended, event: "attempt-cancelled", outcome: "cancelled")
        case .interrupted:
            interrupted.increment()
            log(
                .notice, "attempt interrupted; the job is ready again", ended, event: "attempt-interrupted",
                outcome: "interrupted")
        }
    }

    func stopping(_ attempt: RunningAttempt, _ reason: StopReason) {
        logger.debug("attempt told to stop: \(reason.name)", metadata: Self.metadata(of: attempt))
    }

    func abandoned(_ attempt: RunningAttempt, _ reason: StopReason) {
        logger.warning(
            "operation does not stop (\(reason.name)); its end is recorded without it, and it keeps its slot until it returns",
            metadata: Self.metadata(of: attempt).merging(["HALYARD_EVENT": "attempt-abandoned"]) { $1 })
    }

    func returnedLate(_ attempt: RunningAttempt) {
        logger.notice("operation returned after it was given up", metadata: Self.metadata(of: attempt))
    }

    private func log(
        _ level: Logger.Level, _ message: Logger.Message, _ ended: ClaimLoop.EndedAttempt, event: String,
        outcome: String, code: String? = nil
    ) {
        // Spares the metadata, which costs more than the rest of an attempt's way through the runner.
        guard logger.logLevel <= level else { return }
        var metadata = Self.metadata(of: ended.attempt)
        metadata["HALYARD_EVENT"] = "\(event)"
        metadata["HALYARD_OUTCOME"] = "\(outcome)"
        metadata["HALYARD_DURATION_USEC"] = "\(ended.took.nanoseconds / 1000)"
        if let wait = ended.wait { metadata["HALYARD_WAIT_USEC"] = "\(wait.nanoseconds / 1000)" }
        if let code { metadata["HALYARD_CODE"] = "\(code)" }
        logger.log(level: level, message, metadata: metadata)
    }

    static func metadata(of attempt: RunningAttempt) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "HALYARD_JOB": "\(attempt.lease.job)",
            "HALYARD_ATTEMPT": "\(attempt.lease.attempt)",
            "HALYARD_KIND": "\(attempt.definition.definition.kind)",
            "HALYARD_DEFINITION": "\(attempt.definition.definition.name)",
        ]
        if let graph = attempt.job.graph { metadata["HALYARD_GRAPH"] = "\(graph)" }
        return metadata
    }
}

extension Duration {
    /// Whole nanoseconds; the largest `Int64` after 292 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : scaled + attoseconds / 1_000_000_000
    }
}
