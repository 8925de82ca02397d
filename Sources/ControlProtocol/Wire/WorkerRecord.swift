import Jobs

/// A worker program of the daemon, and its processes.
public struct WorkerRecord: Sendable, Hashable {
    /// The program's name; `halyard-worker` is the built-in one.
    public var name: String
    /// The version that the program announced; nil if it has none or never ran.
    public var version: String?
    /// The names of the kinds that the program announced; empty if it never ran.
    public var kinds: [String]
    /// The maximum number of processes, apart from those in which suspects run alone.
    public var processLimit: Int
    /// The maximum number of attempts at once in each process.
    public var attemptLimit: Int
    /// The processes, the oldest first.
    public var processes: [Process]
    /// The number of attempts that wait for a process.
    public var waiting: Int
    /// The number of processes that ended although nobody asked them to, since the daemon started.
    public var crashes: Int
    /// When the program starts again; nil if it does not rest.
    public var restsUntil: Timestamp?
    /// The reason why the program does not run, or may not run its kinds, as a sentence; nil if it may run.
    public var problem: String?
    /// Whether a reload has removed the program from the configuration. Its processes finish their attempts.
    public var isRemoved: Bool
    /// When a running reload gives up waiting for a new process of the program to introduce itself; nil if no reload
    /// waits for the program.
    public var checkedUntil: Timestamp?

    /// The state of a program. If there is a ``problem``, it explains the state.
    public enum State: Sendable, Hashable {
        /// The program may run, but has no process now.
        case idle
        /// Processes of the program run.
        case running
        /// A reload has started a process of a program that the configuration did not contain before.
        case checking
        /// The program is starting again after a rest.
        case starting
        /// The program waits before it starts again.
        case resting
        /// The program may not run the kinds that it announced.
        case barred
        /// A reload has removed the program, and its processes finish their attempts.
        case removed
    }

    /// The state of the program.
    public var state: State {
        if isRemoved { return .removed }
        if restsUntil != nil { return .resting }
        // The kinds of a program are unknown until it has run once.
        if problem != nil { return kinds.isEmpty ? .starting : .barred }
        if !processes.isEmpty { return .running }
        return checkedUntil != nil && kinds.isEmpty ? .checking : .idle
    }

    /// A process of a worker program.
    public struct Process: Sendable, Hashable {
        /// The stages of a process.
        public enum State: String, Sendable, Hashable, CaseIterable {
            /// `starting` until the process has announced its kinds, `ready` while it accepts attempts, `ending` afterwards.
            case starting, ready, ending
        }

        /// The number of the process; nil until it is launched.
        public var pid: Int32?
        /// The stage of the process.
        public var state: State
        /// When the process was launched.
        public var startedAt: Timestamp
        /// The number of attempts in the process.
        public var attempts: Int
        /// Whether the process is a probe: it runs jobs that were running in a crash, one at a time.
        public var isProbe: Bool

        /// Creates a process from its parts.
        public init(pid: Int32?, state: State, startedAt: Timestamp, attempts: Int, isProbe: Bool) {
            self.pid = pid
            self.state = state
            self.startedAt = startedAt
            self.attempts = attempts
            self.isProbe = isProbe
        }
    }

    /// Creates a record from its parts.
    public init(
        name: String, version: String? = nil, kinds: [String] = [], processLimit: Int, attemptLimit: Int,
        processes: [Process] = [], waiting: Int = 0, crashes: Int = 0, restsUntil: Timestamp? = nil,
        problem: String? = nil, isRemoved: Bool = false, checkedUntil: Timestamp? = nil
    ) {
        self.name = name
        self.version = version
        self.kinds = kinds
        self.processLimit = processLimit
        self.attemptLimit = attemptLimit
        self.processes = processes
        self.waiting = waiting
        self.crashes = crashes
        self.restsUntil = restsUntil
        self.problem = problem
        self.isRemoved = isRemoved
        self.checkedUntil = checkedUntil
    }
}
