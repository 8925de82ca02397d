/// All problems of a configuration, each with its place and its correction.
public struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence for each problem.
    public var problems: [String]

    /// The `errno` of the first problem, if all problems may disappear by themselves, for example when a disk is
    /// mounted later.
    public var transientCode: Int32?

    /// Creates a value. `transientCode` is the `errno` of a problem that may disappear.
    public init(_ problems: [String], transientCode: Int32? = nil) {
        self.problems = problems
        self.transientCode = transientCode
    }

    public var description: String { problems.joined(separator: "\n") }
}
