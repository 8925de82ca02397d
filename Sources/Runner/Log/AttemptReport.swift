import Jobs
import Logging
import Metrics

/// Writes logs and metrics about attempts: identifiers, outcomes and durations, but never the input or output of a job.
struct AttemptReport: Sendable {
    let logger: Logger
    private let succeeded = Counter(label: "halyard_attempts", dimensions: [("outcome", "succeeded")])
    private let failed = Counter(label: "halyard_attempts", dimensions: [("outcome", "failed")])
    private let retried = Counter(label: "halyard_attempts", dimensions: [("outcome", "retried")])
    private let cancelled = Counter(label: "halyard_attempts", dimensions: [("outcome", "cancelled")])
    private let interrupted = Counter(label: "halyard_attempts", dimensions: [("outcome", "interrupted")])
    private let crashed = Counter(label: "halyard_attempts", dimensions: [("outcome", "crashed")])
    private let leaseLost = Counter(label: "halyard_attempts", dimensions: [("outcome", "lease_lost")])
    private let duration = Timer(label: "halyard_attempt_duration")
    private let exchange = Timer(label: "halyard_exchange_duration")

    init(logger: Logger) { self.logger = logger }

    func exchanged(in duration: Duration) { exchange.recordNanoseconds(duration.nanoseconds) }

    /// Logs and counts the ended attempts of one transaction, after it was committed.
    func ended(_ ends: [EndedAttempt], _ results: [FinishResult]) {
        var successes: [EndedAttempt] = []
        for (ended, result) in zip(ends, results) {
            duration.recordNanoseconds(ended.took.nanoseconds)
            if case .succeeded = ended.ending, result == .recorded(.succeeded) {
                succeeded.increment()
                successes.append(ended)
            } else {
                self.ended(ended, result)
            }
        }
        logSuccesses(successes)
    }

    /// Logs jobs that succeeded. If many succeed together, they share one entry per definition, because an entry for
    /// each job reduced the throughput by a fifth.
    private func logSuccesses(_ successes: [EndedAttempt]) {
        guard logger.logLevel <= .info, !successes.isEmpty else { return }
        if successes.count <= JobLog.maxSeparate {
            for ended in successes {
                let attempt = ended.attempt.lease.attempt
                log(
                    .info, "succeeded in \(ended.took.forPeople)\(attempt > 1 ? " on attempt \(attempt)" : "")", ended,
                    event: "attempt-succeeded", outcome: "succeeded")
            }
            return
        }
        for (definition, group) in Dictionary(grouping: successes, by: \.attempt.definition.definition.name) {
            for piece in group.pieces(of: JobLog.jobsInEntry) {
                let jobs = piece.map(\.attempt.lease.job)
                logger.info(
                    "\(JobTitle(jobs, definition: definition)): succeeded",
                    metadata: [
                        "HALYARD_EVENT": "jobs-succeeded", "HALYARD_JOB": .jobs(jobs),
                        "HALYARD_OUTCOME": "succeeded", "HALYARD_COUNT": "\(jobs.count)",
                        "HALYARD_DEFINITION": "\(definition)",
                        "HALYARD_KIND": "\(piece[piece.startIndex].attempt.definition.definition.kind)",
                    ])
            }
        }
    }

    private func ended(_ ended: EndedAttempt, _ result: FinishResult) {
        let attempt = ended.attempt.lease.attempt
        if result == .leaseLost {
            leaseLost.increment()
            log(
                .notice, "attempt \(attempt) ended after it had lost its lease; its result is discarded", ended,
                event: "lease-lost",
                outcome: "lease_lost")
            return
        }
        // If the cancellation of the job had been requested, the attempt may have ended in another way.
        let ending = result == .recorded(.cancelled) ? .cancelled : ended.ending
        switch ending {
        case .succeeded:
            succeeded.increment()
            log(.info, "succeeded in \(ended.took.forPeople)", ended, event: "attempt-succeeded", outcome: "succeeded")
        case .failed(let failure, let timedOut):
            failed.increment()
            log(
                .warning, "failed: \(failure.reason)", ended, event: "job-failed",
                outcome: timedOut ? "timed_out" : "failed", failure)
        case .retry(let failure, let timedOut, _):
            retried.increment()
            log(
                .notice,
                "attempt \(attempt) failed; trying again in \((ended.wait ?? .zero).human): \(failure.reason)",
                ended,
                event: "attempt-retried", outcome: timedOut ? "timed_out" : "failed", failure)
        case .cancelled:
            cancelled.increment()
            log(.info, "cancelled while it was running", ended, event: "attempt-cancelled", outcome: "cancelled")
        case .interrupted:
            interrupted.increment()
            log(
                .notice, "attempt \(attempt) interrupted; the job is ready again", ended, event: "attempt-interrupted",
                outcome: "interrupted")
        case .crashed(let crash, _):
            crashed.increment()
            let consequence = result == .recorded(.failed) ? "the job has failed" : "the job is ready again"
            log(
                .warning, "attempt \(attempt) crashed; \(consequence): \(crash.failure.reason)", ended,
                event: "attempt-crashed", outcome: "crashed", crash.failure)
        }
    }

    func stopping(_ attempt: RunningAttempt, _ reason: StopReason) {
        logger.debug("\(JobTitle(attempt)): asked to stop: \(reason.name)", metadata: Self.metadata(of: attempt))
    }

    func abandoned(_ attempt: RunningAttempt, _ reason: StopReason, after grace: Duration) {
        logger.warning(
            "\(JobTitle(attempt)): did not stop within \(grace.human) (\(reason.name)); the attempt is recorded as ended, and keeps its slot until it returns",
            metadata: Self.metadata(of: attempt).merging(["HALYARD_EVENT": "attempt-abandoned"]) { $1 })
    }

    func returnedLate(_ attempt: RunningAttempt) {
        logger.notice(
            "\(JobTitle(attempt)): its operation returned after its attempt was abandoned",
            metadata: Self.metadata(of: attempt))
    }

    private func log(
        _ level: Logger.Level, _ message: @autoclosure () -> String, _ ended: EndedAttempt, event: String,
        outcome: String, _ failure: JobFailure? = nil
    ) {
        // Building the metadata takes longer than everything else the runner does for an attempt.
        guard logger.logLevel <= level else { return }
        var metadata = Self.metadata(of: ended.attempt)
        metadata["HALYARD_EVENT"] = "\(event)"
        metadata["HALYARD_OUTCOME"] = "\(outcome)"
        metadata["HALYARD_DURATION_USEC"] = "\(ended.took.nanoseconds / 1000)"
        if let wait = ended.wait { metadata["HALYARD_WAIT_USEC"] = "\(wait.nanoseconds / 1000)" }
        if let failure {
            metadata["HALYARD_CODE"] = "\(failure.code)"
            metadata["HALYARD_ERROR"] = "\(failure.loggedMessage)"
        }
        logger.log(level: level, "\(JobTitle(ended.attempt)): \(message())", metadata: metadata)
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
    /// Whole nanoseconds. A duration longer than 292 years becomes the largest `Int64`.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : scaled + attoseconds / 1_000_000_000
    }
}

extension Duration {
    /// A rounded duration for people, such as `7ms`, `3.2s` or `12m`.
    fileprivate var forPeople: String {
        let milliseconds = nanoseconds / 1_000_000
        switch milliseconds {
        case ..<1000: return "\(milliseconds)ms"
        case ..<60_000: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100)s"
        default: return Duration.seconds(milliseconds / 1000).human
        }
    }
}
