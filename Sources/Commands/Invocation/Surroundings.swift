import CalendarEvents
import FoundationEssentials
import Glibc
import Jobs

/// Everything that a command uses of its process: streams, environment variables, clock and working directory.
public struct Surroundings: Sendable {
    /// The file descriptor of standard input.
    public var input: Int32
    /// Standard output.
    public var output: Output
    /// Standard error.
    public var errors: Output
    /// Returns the value of an environment variable; nil if it is not set.
    public var variable: @Sendable (String) -> String?
    /// Returns the working directory; nil if it no longer exists.
    public var workingDirectory: @Sendable () -> String?
    /// Returns the time of the wall clock.
    public var now: @Sendable () -> Timestamp
    /// A clock that replaces the database server's clock, for tests; nil to use the server's clock.
    var serverClock: (any StoreClock)?
    /// How long to wait for another process that holds the database.
    public var lockPatience = Duration.seconds(10)
    /// How long `status` waits for the answer of a daemon that listens, before it reads the database itself.
    public var statusPatience = Duration.seconds(5)

    /// Creates surroundings, with the default patience.
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

    /// The surroundings of this process.
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

    /// The machine's time zone, for times that people read.
    var zone: Zone { .local(environment: variable("TZ")) }

    /// Prints a note for people on standard error.
    func note(_ text: StyledText) throws {
        try errors.line("halyard: " + text)
        try errors.flush()
    }
}
