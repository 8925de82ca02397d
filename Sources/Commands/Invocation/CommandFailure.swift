import Control

/// Why a verb could not do its work: what the shell and the person learn. The message ends with what to do.
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

    /// A problem in the words of the model, with what to look at.
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

    /// As the control socket would tell it.
    var problem: ControlProblem { ControlProblem(code, message, details: details) }
}
