/// The reason why a document of definitions cannot be parsed.
public struct DefinitionsProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line number, from 1; nil if the document is JSON.
    public var line: Int?
    /// The path in the document, such as `definitions.upload.retry.tries`; nil for the document as a whole.
    public var place: String?
    /// The fault, followed by the remedy.
    public var message: String
    /// The other problems of the document. Their own ``others`` are empty.
    public var others: [DefinitionsProblem] = []

    /// Creates a problem without others.
    public init(line: Int?, place: String? = nil, message: String) {
        self.line = line
        self.place = place
        self.message = message
    }

    /// One line for each problem, such as `line 12: definitions.upload.retry.tries: expected 1 to 1000, found 0`.
    public var description: String { descriptions.joined(separator: "\n") }

    /// The lines of ``description``, beginning with this problem.
    public var descriptions: [String] {
        let own = [line.map { "line \($0)" }, place, message].compactMap(\.self).joined(separator: ": ")
        return [own] + others.flatMap(\.descriptions)
    }
}
