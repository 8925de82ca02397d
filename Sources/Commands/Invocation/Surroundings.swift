import CalendarEvents
import FoundationEssentials
import Glibc
import Jobs

/// What a run of the command line touches: its streams, variables, clock and working directory.
public struct Surroundings: Sendable {
    public var input: Int32
    public var output: Output
    public var errors: Output
    public var variable: @Sendable (String) -> String?
    public var workingDirectory: @Sendable () -> String?
    public var now: @Sendable () -> Timestamp
    /// How long another holder of the database is waited for.
    public var lockPatience = Duration.seconds(10)
    /// How long `status` waits for a daemon that listens, before it looks for itself.
    public var statusPatience = Duration.seconds(5)

    public init(
        input: Int32, output: Output, errors: Output, variable: @escaping @Sendable (String) -> String?,
        workingDirectory: @escaping @Sendable () -> String?, now: @escaping @Sendable () -> Timestamp
    ) {
        self.input = input
        self.output = output
        self.errors = errors
        self.variable = variable
        self.workingDirectory = workingDirectory
        self.now = now
    }

    /// Those of this process.
    public static var process: Surroundings {
        let variable: @Sendable (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
        return Surroundings(
            input: STDIN_FILENO, output: Output(descriptor: STDOUT_FILENO, variable: variable),
            errors: Output(descriptor: STDERR_FILENO, variable: variable), variable: variable,
            workingDirectory: {
                guard let path = getcwd(nil, 0) else { return nil }
                defer { free(path) }
                return String(cString: path)
            },
            now: { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) })
    }

    /// Of the machine, for times that people read.
    var zone: Zone { .local(environment: variable("TZ")) }

    /// Tells the person something beside the data.
    func note(_ text: StyledText) throws {
        try errors.line("halyard: " + text)
        try errors.flush()
    }
}
