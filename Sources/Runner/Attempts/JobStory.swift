import Jobs
import Logging

/// Logs what happens to a job besides the ends of its attempts: accepted and started at `debug`, cancelled and skipped,
/// which end a job, at `info`. Identifiers only, never what a job was given.
///
/// Jobs that end together share an entry, so that a flood costs the store's thread and the journal little. The entry
/// carries `HALYARD_JOB` once for each of them.
struct JobStory: Sendable {
    /// In one entry; the journal takes at most 1,024 fields.
    static let jobsInEntry = 500
    /// So many that end together still have an entry each.
    static let alone = 3

    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    private enum Ending: Hashable {
        case cancelled
        case skipped(because: JobID)
        case skippedAtOnce
    }

    /// On the store's thread, after the commit and before anything that follows from it.
    func changed(_ changes: [JobChange]) {
        guard logger.logLevel <= .info else { return }
        var ends: [Ending: [JobChange]] = [:]
        for change in changes {
            if change.isCancelRequest {
                logger.info(
                    "\(JobTitle(change.job)): cancellation requested; told to stop",
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
            case .dependency(let parent): ends[.skipped(because: parent), default: []].append(change)
            }
        }
        for (ending, changes) in ends {
            for piece in changes.pieces(of: changes.count > Self.alone ? Self.jobsInEntry : 1) { tell(ending, piece) }
        }
    }

    func started(_ attempt: RunningAttempt) {
        guard logger.logLevel <= .debug else { return }
        logger.debug(
            "\(JobTitle(attempt)): attempt \(attempt.lease.attempt) started",
            metadata: AttemptReport.metadata(of: attempt).merging(["HALYARD_EVENT": "attempt-started"]) { $1 })
    }

    private func tell(_ ending: Ending, _ changes: ArraySlice<JobChange>) {
        let jobs = JobTitle(changes.map(\.job))
        switch ending {
        case .cancelled:
            logger.info(
                "\(jobs): cancelled before running", metadata: Self.metadata(of: changes, event: "job-cancelled"))
        case .skipped(let parent):
            var metadata = Self.metadata(of: changes, event: "job-skipped")
            metadata["HALYARD_DEPENDENCY"] = "\(parent)"
            logger.info("\(jobs): skipped: the dependency, job \(parent), did not succeed", metadata: metadata)
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
    /// A field for each of several jobs.
    static func jobs(_ jobs: [JobID]) -> Logger.MetadataValue {
        jobs.count == 1 ? "\(jobs[0])" : .array(jobs.map { "\($0)" })
    }
}
