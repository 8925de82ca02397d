import Jobs
import OperationTypes

/// The daemon's contributions to the verbs of its store: the state of running jobs, and actions that only a daemon can
/// do.
public struct DaemonHooks: Sendable {
    /// The daemon's state and problems.
    public struct Condition: Sendable, Hashable {
        public var state: StatusReport.State
        public var pid: Int32
        public var startedAt: Timestamp
        public var problems: [String]
        /// Nil until the daemon runs jobs.
        public var slots: Slots?

        public init(
            state: StatusReport.State, pid: Int32, startedAt: Timestamp, problems: [String] = [], slots: Slots? = nil
        ) {
            self.state = state
            self.pid = pid
            self.startedAt = startedAt
            self.problems = problems
            self.slots = slots
        }
    }

    /// The limit of all queues together.
    public struct Slots: Sendable, Hashable {
        /// The number of running attempts, including those that were given up and have not returned.
        public var used: Int
        public var limit: Int

        public init(used: Int, limit: Int) {
            self.used = used
            self.limit = limit
        }
    }

    public typealias ProgressObserver = @Sendable (JobID, OperationProgress) -> Void

    public var condition: @Sendable () async -> Condition
    /// The last report of a running attempt.
    public var progress: @Sendable (JobID) -> OperationProgress?
    /// Calls the observer with the progress of running attempts in scope until the observation ends. The observer
    /// returns quickly.
    public var observeProgress: @Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation
    /// Reads the configuration and the definitions again and applies them completely or not at all.
    public var reload: @Sendable () async throws(ControlProblem) -> Void
    /// Checks inputs before a job is accepted or a definition is stored, and returns the first problem, for example a
    /// file outside the roots.
    public typealias InputCheck = @Sendable ([PlannedInput]) async -> ControlProblem?

    /// Called once for each request. The inputs of a request share the limits of a check.
    public var beginInputCheck: (@Sendable () -> InputCheck)?
    public var spool: Spool?

    public init(
        condition: @escaping @Sendable () async -> Condition,
        progress: @escaping @Sendable (JobID) -> OperationProgress? = { _ in nil },
        observeProgress: @escaping @Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation = { _, _ in
            StoreObservation {}
        },
        reload: @escaping @Sendable () async throws(ControlProblem) -> Void = {},
        beginInputCheck: (@Sendable () -> InputCheck)? = nil,
        spool: Spool? = nil
    ) {
        self.condition = condition
        self.progress = progress
        self.observeProgress = observeProgress
        self.reload = reload
        self.beginInputCheck = beginInputCheck
        self.spool = spool
    }
}
