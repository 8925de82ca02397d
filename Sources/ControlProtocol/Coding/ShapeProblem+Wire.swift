import Jobs

extension ShapeProblem {
    init(_ message: String, at path: [String] = []) { self.init(path: path, message: message) }

    func inside(_ name: String) -> ShapeProblem { ShapeProblem(path: [name] + path, message: message) }
}

extension ControlProblem {
    /// Creates the problem for a request whose JSON does not have the expected form. Its code is
    /// ``Code/invalidRequest``.
    public init(_ problem: ShapeProblem) {
        self.init(.invalidRequest, sentence("The request is invalid: \(problem)"))
    }
}
