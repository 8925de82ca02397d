/// All problems of a configuration, each with its place and its correction.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    public var problems: [String]

    /// The `errno` of the first problem, if all problems may disappear by themselves, for example when a disk is
    /// mounted later.
    public var passing: Int32?

    public init(_ problems: [String], passing: Int32? = nil) {
        self.problems = problems
        self.passing = passing
    }

    public var description: String { problems.joined(separator: "\n") }
}
