import Jobs
import OperationTypes

/// What a daemon adds to its store: what runs at the moment, and what only it can do.
public struct DaemonHooks: Sendable {
    /// How the daemon is doing.
    public struct Condition: Sendable, Hashable {
        public var state: StatusReport.State
        public var pid: Int32
        public var startedAt: Timestamp
        public var problems: [String]

        public init(state: StatusReport.State, pid: Int32, startedAt: Timestamp, problems: [String] = []) {
            self.state = state
            self.pid = pid
            self.startedAt = startedAt
            self.problems = problems
        }
    }

    public typealias ProgressObserver = @Sendable (JobID, OperationProgress) -> Void

    public var condition: @Sendable () async -> Condition
    /// The last report of a running attempt.
    public var progress: @Sendable (JobID) -> OperationProgress?
    /// Calls the observer with the progress of running attempts in scope until the observation ends. The observer
    /// returns quickly.
    public var observeProgress: @Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation
    /// Reads configuration and definitions anew, whole or not at all.
    public var reload: @Sendable () async throws(ControlProblem) -> Void
    /// The first problem of inputs that are judged before a job is accepted or a definition is written, e.g. a file
    /// outside the roots.
    public typealias InputCheck = @Sendable ([PlannedInput]) async -> ControlProblem?

    /// Called once for each request, whose inputs share what a check may take.
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
