/// All problems of a configuration, each with its place and its correction.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence for each problem.
    public var problems: [String]

    /// The `errno` of the first problem, if all problems may disappear by themselves, for example when a disk is
    /// mounted later.
    public var passing: Int32?

    /// Creates an error. `passing` is the `errno` of a problem that may disappear.
    public init(_ problems: [String], passing: Int32? = nil) {
        self.problems = problems
        self.passing = passing
    }

    public var description: String { problems.joined(separator: "\n") }
}
