import Jobs
import Logging

/// Logs the events of a job other than the ends of its attempts. Enqueueing and starting are logged at `debug`.
/// Cancelling and skipping, which end a job, are logged at `info`. Entries contain only identifiers, never the job's
/// input.
///
/// If many jobs end together, they share one entry, so that they cost the store's thread and the journal little. The
/// entry has one `HALYARD_JOB` field per job.
struct JobLog: Sendable {
    /// The maximum number of jobs in one entry. The journal accepts at most 1,024 fields.
    static let jobsInEntry = 500
    /// The maximum number of jobs ending together that still get separate entries.
    static let maxSeparate = 3

    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    private enum Ending: Hashable {
        case cancelled
        case skipped(because: JobID)
        case skippedAtOnce
    }

    /// Called on the store's thread, after the commit and before the runner acts on the changes.
    func changed(_ changes: [JobChange]) {
        guard logger.logLevel <= .info else { return }
        var ends: [Ending: [JobChange]] = [:]
        for change in changes {
            if change.isCancelRequest {
                logger.info(
                    "\(JobTitle(change.job)): cancellation requested; asked to stop",
                    metadata: Self.metadata(of: [change], event: "cancel-asked"))
                continue
            }
            switch change.cause {
            case nil: continue
            case .accepted where change.state == .skipped: ends[.skippedAtOnce, default: []].append(change)
            case .accepted:
                guard logger.logLevel <= .debug else { continue }
                logger.debug(
                    "\(JobTitle(change.job)): enqueued; it is \(change.state.name)",
                    metadata: Self.metadata(of: [change], event: "job-enqueued"))
            case .cancelled: ends[.cancelled, default: []].append(change)
            case .dependency(let dependency): ends[.skipped(because: dependency), default: []].append(change)
            }
        }
        for (ending, changes) in ends {
            for piece in changes.pieces(of: changes.count > Self.maxSeparate ? Self.jobsInEntry : 1) {
                logEnd(ending, piece)
            }
        }
    }

    func started(_ attempt: RunningAttempt) {
        guard logger.logLevel <= .debug else { return }
        logger.debug(
            "\(JobTitle(attempt)): attempt \(attempt.lease.attempt) started",
            metadata: AttemptReport.metadata(of: attempt).merging(["HALYARD_EVENT": "attempt-started"]) { $1 })
    }

    private func logEnd(_ ending: Ending, _ changes: ArraySlice<JobChange>) {
        let jobs = JobTitle(changes.map(\.job))
        switch ending {
        case .cancelled:
            logger.info(
                "\(jobs): cancelled before running", metadata: Self.metadata(of: changes, event: "job-cancelled"))
        case .skipped(let dependency):
            var metadata = Self.metadata(of: changes, event: "job-skipped")
            metadata["HALYARD_DEPENDENCY"] = "\(dependency)"
            logger.info("\(jobs): skipped: the dependency, job \(dependency), did not succeed", metadata: metadata)
        case .skippedAtOnce:
            logger.info(
                "\(jobs): skipped when enqueued: a dependency had not succeeded",
                metadata: Self.metadata(of: changes, event: "job-skipped"))
        }
    }

    private static func metadata(of changes: ArraySlice<JobChange>, event: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["HALYARD_EVENT": "\(event)"]
        metadata["HALYARD_JOB"] = .jobs(changes.map(\.job))
        let graphs = Set(changes.map(\.graph))
        if graphs.count == 1, let graph = changes.first?.graph { metadata["HALYARD_GRAPH"] = "\(graph)" }
        return metadata
    }
}

extension Logger.MetadataValue {
    /// A metadata value that becomes one field per job.
    static func jobs(_ jobs: [JobID]) -> Logger.MetadataValue {
        jobs.count == 1 ? "\(jobs[0])" : .array(jobs.map { "\($0)" })
    }
}
