import ControlProtocol
import JobFiles
import Jobs
import OperationTypes

/// The daemon's contributions to the verbs of its ``StoreControl``: the state of running jobs, and actions that
/// only a daemon can carry out.
public struct DaemonHooks: Sendable {
    /// The daemon's state and problems.
    public struct Condition: Sendable, Hashable {
        /// The daemon's current state.
        public var state: StatusReport.State
        /// The daemon's process.
        public var pid: Int32
        /// When the daemon started.
        public var startedAt: Timestamp
        /// Problems for the administrator, one sentence each.
        public var problems: [String]
        /// The use of the slots; nil until the daemon runs jobs.
        public var slots: Slots?

        /// Creates a condition.
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

    /// The use of the daemon's slots, which limit the running jobs of all queues together.
    public struct Slots: Sendable, Hashable {
        /// The number of running attempts, including abandoned ones that have not returned.
        public var used: Int
        /// The number of slots.
        public var limit: Int

        /// Creates a value.
        public init(used: Int, limit: Int) {
            self.used = used
            self.limit = limit
        }
    }

    /// Returns the daemon's current state and problems.
    public var condition: @Sendable () async -> Condition
    /// Returns the last progress report of a running attempt; nil if there is none.
    public var progress: @Sendable (JobID) -> OperationProgress?
    /// Passes the progress of the running attempts in scope to the observer, until the observation is cancelled
    /// or released.
    public var observeProgress: @Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation
    /// Returns the worker programs, the built-in one first.
    public var workers: @Sendable () -> [WorkerRecord]
    /// Returns the reason why the worker of this kind cannot begin an attempt now; nil if it can.
    public var waitForWorker: @Sendable (_ kind: String, _ isSuspect: Bool) -> WaitExplanation.Reason?
    /// Reads the configuration and the definitions again. An invalid configuration changes nothing.
    public var reload: @Sendable () async throws(ControlProblem) -> ReloadReport
    /// Checks inputs before jobs are accepted or definitions are stored. Returns the problem of each input, for example
    /// a file outside the roots; nil if it has none.
    public typealias InputCheck = @Sendable ([PlannedInput]) async -> [ControlProblem?]

    /// Begins the check for one request; nil to check nothing. The inputs of a request share the time limit of
    /// a check.
    public var beginInputCheck: (@Sendable () -> InputCheck)?
    /// The folder for files that callers send; nil to refuse them.
    public var spool: Spool?
    /// The identity by which the database knows the daemon (``Holder/identity``); nil if the daemon has the database to
    /// itself.
    public var identity: String?
    /// Whether every daemon of the database can read the spool. If not, jobs with files in the spool run only here.
    public var sharesSpool: Bool
    /// The files of jobs, shared with the kinds that write them; nil for the folder `files` next to the database.
    public var files: JobFiles?
    /// The number of counted crashes that a job may cause; nil if it is unknown.
    public var maxCrashes: Int?

    /// Creates hooks. Without further arguments there is no progress, there are no workers, a reload does nothing, and
    /// inputs are not checked.
    public init(
        condition: @escaping @Sendable () async -> Condition,
        progress: @escaping @Sendable (JobID) -> OperationProgress? = { _ in nil },
        observeProgress: @escaping @Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation = { _, _ in
            StoreObservation {}
        },
        workers: @escaping @Sendable () -> [WorkerRecord] = { [] },
        waitForWorker: @escaping @Sendable (_ kind: String, _ isSuspect: Bool) -> WaitExplanation.Reason? = { _, _ in
            nil
        },
        reload: @escaping @Sendable () async throws(ControlProblem) -> ReloadReport = { ReloadReport() },
        beginInputCheck: (@Sendable () -> InputCheck)? = nil,
        spool: Spool? = nil, identity: String? = nil, sharesSpool: Bool = false, files: JobFiles? = nil,
        maxCrashes: Int? = nil
    ) {
        self.condition = condition
        self.progress = progress
        self.observeProgress = observeProgress
        self.workers = workers
        self.waitForWorker = waitForWorker
        self.reload = reload
        self.beginInputCheck = beginInputCheck
        self.spool = spool
        self.identity = identity
        self.sharesSpool = sharesSpool
        self.files = files
        self.maxCrashes = maxCrashes
    }
}
