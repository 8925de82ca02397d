import ControlProtocol

/// Why a verb failed: the exit code for the shell, and a message for people that ends with what to do.
struct CommandFailure: Error, Hashable {
    var exit: ExitCode
    var message: String
    var details: [String]
    private let code: ControlProblem.Code

    init(_ exit: ExitCode, _ message: String, details: [String] = []) {
        self.exit = exit
        code = ControlProblem.Code(exit)
        self.message = message
        self.details = details
    }

    /// Creates a failure from a clause that describes a problem, and from a command that shows more.
    init(_ exit: ExitCode, _ problem: some CustomStringConvertible, see remedy: String) {
        let clause = problem.description
        let text = clause.prefix(1).uppercased() + clause.dropFirst()
        self.init(exit, text + (text.last == "?" || text.last == "." ? " " : ". ") + "See: " + remedy)
    }

    init(_ problem: ControlProblem) {
        exit = ExitCode(problem.code)
        code = problem.code
        message = problem.message
        details = problem.details
    }

    /// The problem that the control socket would report.
    var problem: ControlProblem { ControlProblem(code, message, details: details) }
}
