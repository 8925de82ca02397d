import Jobs
import Logging
import Synchronization

/// Tells the log what happens to a job besides the ends of its attempts, so that a journal asked for one job tells its
/// whole story: accepted, started, cancelled, skipped and why. Identifiers only, never what a job was given.
///
/// Bounded: of more than ``perSecond`` for long the rest is left out, which is told once. So a flood costs the store's
/// thread and the journal little; ends of attempts are always told.
final class JobStory: Sendable {
    static let perSecond = 100
    /// So many may come at once.
    static let burst = 200

    private let logger: Logger
    private let level: Logger.Level
    private let uptime: @Sendable () -> Duration
    private let allowance: Mutex<Allowance>

    private struct Allowance {
        var left = Double(JobStory.burst)
        var countedAt: Duration
        var leftOutAt: Duration?

        /// Whether one more may be told, and whether the first of many is left out.
        mutating func take(now: Duration) -> (isTold: Bool, isFirstLeftOut: Bool) {
            left = min(Double(JobStory.burst), left + (now - countedAt) / .seconds(1) * Double(JobStory.perSecond))
            countedAt = now
            guard left < 1 else {
                left -= 1
                return (true, false)
            }
            defer { leftOutAt = now }
            return (false, leftOutAt.map { now - $0 > .seconds(10) } ?? true)
        }
    }

    init(logger: Logger, level: Logger.Level, uptime: @escaping @Sendable () -> Duration) {
        self.logger = logger
        self.level = level
        self.uptime = uptime
        allowance = Mutex(Allowance(countedAt: uptime()))
    }

    /// On the store's thread, after the commit and before anything that follows from it.
    func changed(_ changes: [JobChange]) {
        guard logger.logLevel <= level else { return }
        for change in changes {
            if change.isCancelRequest {
                tell("cancellation asked for", change, event: "cancel-asked")
                continue
            }
            switch change.cause {
            case nil: continue
            case .accepted where change.state == .skipped:
                tell("job enqueued and skipped at once: a dependency had ended otherwise", change, event: "job-skipped")
            case .accepted: tell("job enqueued; it is \(change.state.name)", change, event: "job-enqueued")
            case .cancelled: tell("job cancelled; it was not running", change, event: "job-cancelled")
            case .dependency(let other):
                tell(
                    "job skipped: its dependency, job \(other), did not succeed", change, event: "job-skipped",
                    ["HALYARD_DEPENDENCY": "\(other)"])
            }
        }
    }

    func started(_ attempt: RunningAttempt) {
        guard logger.logLevel <= level, isAllowed() else { return }
        logger.log(
            level: level, "attempt \(attempt.lease.attempt) started",
            metadata: AttemptReport.metadata(of: attempt).merging(["HALYARD_EVENT": "attempt-started"]) { $1 })
    }

    private func tell(
        _ message: @autoclosure () -> Logger.Message, _ change: JobChange, event: String, _ more: Logger.Metadata = [:]
    ) {
        guard isAllowed() else { return }
        var metadata = more
        metadata["HALYARD_JOB"] = "\(change.job)"
        metadata["HALYARD_EVENT"] = "\(event)"
        if let graph = change.graph { metadata["HALYARD_GRAPH"] = "\(graph)" }
        logger.log(level: level, message(), metadata: metadata)
    }

    private func isAllowed() -> Bool {
        let (isTold, isFirstLeftOut) = allowance.withLock { $0.take(now: uptime()) }
        if isFirstLeftOut {
            logger.log(
                level: level,
                "more than \(Self.perSecond) jobs a second: not every enqueue, start and skip is told until there are fewer",
                metadata: ["HALYARD_EVENT": "story-shortened"])
        }
        return isTold
    }
}
