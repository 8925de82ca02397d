/// The reason why a text is not a YAML document.
public struct YAMLProblem: Error, Hashable, Sendable {
    /// The line number, from 1.
    public var line: Int
    /// The message, without the line number.
    public var message: String
}
