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
    /// The program's settings, a JSON object.
    public var settings: JSONText
    /// The program's environment.
    public var environment: [String: String]

    /// Creates a program. Default: one process with up to 256 attempts, no settings and an empty environment.
    public init(
        name: String, command: [String], processes: Int = 1, attempts: Int = 256, settings: JSONText = .emptyObject,
        environment: [String: String] = [:]
    ) {
        self.name = name
        self.command = command
        self.processes = processes
        self.attempts = attempts
        self.settings = settings
        self.environment = environment
    }
}
