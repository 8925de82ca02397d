/// What is wrong with a configuration: every problem, each with its place and what to write instead.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    public var problems: [String]

    /// The `errno` of the first, where all are of a kind that may pass without anybody setting them right, such as a disk
    /// that is mounted later.
    public var passing: Int32?

    public init(_ problems: [String], passing: Int32? = nil) {
        self.problems = problems
        self.passing = passing
    }

    public var description: String { problems.joined(separator: "\n") }
}
