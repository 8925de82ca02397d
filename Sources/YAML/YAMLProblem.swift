/// Why a text is not a YAML document.
public struct YAMLProblem: Error, Hashable, Sendable {
    /// From 1.
    public var line: Int
    /// Without the line.
    public var message: String
}
