import Jobs
import Workers

extension DaemonConfiguration {
    /// A program that the administrator named under `workers`. It speaks the worker protocol and runs kinds of its own.
    public struct Worker: Sendable, Hashable {
        /// The name, of lower-case letters, digits, dots, underscores and dashes; the first is a letter or a digit.
        public var name: String
        /// The absolute path of the executable, and its arguments.
        public var command: [String]
        /// The maximum number of processes, 1 to 64, apart from those in which suspects run alone. Default: 1.
        public var processes: Int
        /// The maximum number of attempts at once in each process, 1 to 1024. Default: 8.
        public var attempts: Int
        /// The limits of each process.
        public var limits: WorkerProgram.Limits
        /// Variables to add to the environment of the processes, or to replace in it.
        public var environment: [String: String]
        /// The settings for the program, a JSON object. The daemon does not interpret them.
        public var settings: JSONText

        /// Creates a worker with the default limits, without settings.
        public init(
            name: String, command: [String], processes: Int = 1, attempts: Int = 8,
            limits: WorkerProgram.Limits = .init(), environment: [String: String] = [:],
            settings: JSONText = .emptyObject
        ) {
            self.name = name
            self.command = command
            self.processes = processes
            self.attempts = attempts
            self.limits = limits
            self.environment = environment
            self.settings = settings
        }

        static let processLimits = 1...64
        static let attemptLimits = 1...1024
        /// The name of the worker of the built-in kinds.
        static let builtInName = "halyard-worker"
    }
}
