import Jobs

/// A worker program that the daemon starts: an executable that speaks the worker protocol.
public struct WorkerProgram: Sendable, Hashable {
    /// The program's name in the configuration, in logs and in failures.
    public var name: String
    /// The path of the executable, and its arguments.
    public var command: [String]
    /// The maximum number of processes, apart from those in which suspects run alone.
    public var processes: Int
    /// The maximum number of attempts at once in each process.
    public var attempts: Int
    /// The limits of each process, together with what it starts.
    public var limits: Limits
    /// The program's settings, a JSON object.
    public var settings: JSONText
    /// The program's environment.
    public var environment: [String: String]

    /// The limits of one process of a worker program, so that a defect in one kind cannot exhaust the machine.
    public struct Limits: Sendable, Hashable {
        /// The memory in bytes. In a cgroup with a memory controller, all processes together have this much, otherwise each
        /// process by itself. Default: 4 GiB.
        public var memory: Int64 = 4 << 30
        /// The number of processes and threads. Without a cgroup, those of the same user that run at the start are added,
        /// and the limit does not apply to root. Default: 4096.
        public var processes = 4096
        /// The number of open descriptors of each process. Default: 1024.
        public var descriptors = 1024

        /// Creates the default limits.
        public init() {}

        /// The values that ``memory`` may have.
        public static let memoryRange: ClosedRange<Int64> = 64 << 20...1 << 50
        /// The values that ``processes`` may have.
        public static let processRange = 32...1_000_000
        /// The values that ``descriptors`` may have.
        public static let descriptorRange = 64...1_000_000
    }

    /// Creates a program. Default: one process with up to 256 attempts, no settings and an empty environment.
    public init(
        name: String, command: [String], processes: Int = 1, attempts: Int = 256, limits: Limits = Limits(),
        settings: JSONText = .emptyObject, environment: [String: String] = [:]
    ) {
        self.name = name
        self.command = command
        self.processes = processes
        self.attempts = attempts
        self.limits = limits
        self.settings = settings
        self.environment = environment
    }
}
