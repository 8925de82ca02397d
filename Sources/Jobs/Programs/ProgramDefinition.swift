import OperationTypes

/// The program of a definition of the kind `program`: an executable, its arguments, and the meaning of its end.
///
/// Only a definition contains these. A job supplies values for ``fields``, which become arguments or parts of arguments
/// and never choose the executable.
public struct ProgramDefinition: Hashable, Sendable {
    /// The name of the kind that runs programs.
    public static let kind = "program"

    /// The content of the program's standard input.
    public enum StandardInput: String, Hashable, Sendable, CaseIterable {
        /// The job's input, an object, with the defaults of missing fields.
        case json
        /// Nothing.
        case none
    }

    /// The source of the job's result.
    public enum ResultForm: String, Hashable, Sendable, CaseIterable {
        /// Standard output as a string, without a line break at its end.
        case text
        /// Standard output, which must be one JSON value.
        case json
        /// Standard output as an array with a string for each line.
        case lines
        /// The file that the program writes to the path `{output}`.
        case file
        /// The result is null. Standard output belongs to the job's log.
        case none
    }

    /// The meaning of an exit code other than 0.
    public enum Exit: Hashable, Sendable {
        /// The attempt succeeds.
        case succeed
        /// The attempt fails, and another try may succeed. Nil for the code `exit_N`.
        case retry(code: String?)
        /// The attempt fails with this code, and another try cannot succeed.
        case fail(code: String)
    }

    /// The absolute path of the executable.
    public let executable: String
    /// The arguments after the executable.
    public let arguments: [ProgramArgument]
    /// The fields of a job's input, in the order of the arguments on a command line; nil if any field is accepted.
    public let fields: [ProgramField]?
    /// The content of standard input. Default: JSON.
    public let standardInput: StandardInput
    /// The source of the result. Default: none.
    public let result: ResultForm
    /// The meaning of exit codes from 1 to 255. Any other code N fails the attempt with the code `exit_N`.
    public let exits: [Int: Exit]
    /// The limits of one attempt.
    public let limits: ProgramLimits
    /// Additional variables of the environment.
    public let environment: [String: String]

    init(
        executable: String, arguments: [ProgramArgument], fields: [ProgramField]?, standardInput: StandardInput,
        result: ResultForm, exits: [Int: Exit], limits: ProgramLimits, environment: [String: String]
    ) {
        self.executable = executable
        self.arguments = arguments
        self.fields = fields
        self.standardInput = standardInput
        self.result = result
        self.exits = exits
        self.limits = limits
        self.environment = environment
    }

    /// The variables that the daemon sets itself.
    static let ownVariables = ["HALYARD_ATTEMPT", "HALYARD_JOB", "HALYARD_PROGRAM", "NOTIFY_SOCKET"]

    /// Whether a variable makes the dynamic linker, the C library or a shell run other code than that of the executable.
    static func loadsCode(_ variable: String) -> Bool {
        variable.hasPrefix("LD_") || ["BASH_ENV", "ENV", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH"].contains(variable)
    }
}

/// A field of the input of a program's jobs.
public struct ProgramField: Hashable, Sendable {
    /// The name, type and meaning of the field.
    public let field: InputField
    /// The value if the input lacks the field; nil for none.
    public let fallback: JSONText?
    /// Whether the value is a list of strings, each of which becomes an argument; its type is written `strings`.
    public let isList: Bool

    /// The maximum number of strings in a list.
    public static let maxElements = 1000

    /// The name of the field.
    public var name: String { field.name }

    /// The names of the fields that are lists of strings.
    static func lists(among fields: [ProgramField]) -> Set<String> { Set(fields.filter(\.isList).map(\.name)) }
}

/// The limits of one attempt of a program. A value that is nil is the default.
public struct ProgramLimits: Hashable, Sendable {
    /// The maximum memory of all processes together, in bytes; nil for no limit.
    public var memory: Int64?
    /// The number of processors that all processes together may use, such as 0.5; nil for no limit.
    public var processors: Double?
    /// The maximum number of processes and threads; nil for ``defaultProcesses`` in a cgroup, and no limit without one.
    public var processes: Int?
    /// The maximum size of standard output if it is the result; nil for ``maxOutput``.
    public var output: Int64?
    /// The maximum size of each file that the program writes; nil for ``defaultFile``.
    public var file: Int64?
    /// The maximum size of the attempt's log; nil for ``defaultLog``.
    public var log: Int64?

    init() {}

    /// The default of ``processes``.
    public static let defaultProcesses = 64
    /// The largest value of ``output``, which is also its default.
    public static let maxOutput = Int64(JSONText.maxBytes)
    /// The default of ``file``: 1 GiB.
    public static let defaultFile: Int64 = 1 << 30
    /// The default of ``log``: 4 MiB.
    public static let defaultLog: Int64 = 4 << 20
}
