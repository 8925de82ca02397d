import Jobs

/// The reason why a document of definitions cannot be parsed.
public struct DefinitionsProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line number, from 1; nil if the document is JSON.
    public var line: Int?
    /// The path in the document: `definitions.upload.retry.tries` is four names. Empty for the document as a whole.
    public var path: [String] = []
    /// The fault, followed by the remedy.
    public var message: String
    /// The other problems of the document. Their own ``others`` are empty.
    public var others: [DefinitionsProblem] = []

    /// One line for each problem, such as `line 12: definitions.upload.retry.tries: expected 1 to 1000, found 0`.
    public var description: String { descriptions.joined(separator: "\n") }

    /// The lines of ``description``, beginning with this problem.
    public var descriptions: [String] {
        let own = ShapeProblem(path: path, message: message).description
        return [line.map { "line \($0): \(own)" } ?? own] + others.flatMap(\.descriptions)
    }
}
