/// What is wrong with a configuration: every problem, each with its place and what to write instead.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    public var problems: [String]

    public init(_ problems: [String]) { self.problems = problems }

    public var description: String { problems.joined(separator: "\n") }
}
