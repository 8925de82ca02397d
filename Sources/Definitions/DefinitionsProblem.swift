/// Why a document of definitions cannot be read.
public struct DefinitionsProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1; nil where the document gives no lines.
    public var line: Int?
    /// Where in the document, e.g. `definitions.upload.retry.attempts`; nil for the document itself.
    public var place: String?
    /// Ends with the remedy.
    public var message: String
    /// What else is wrong with the document; each has no others itself.
    public var others: [DefinitionsProblem] = []

    public init(line: Int?, place: String? = nil, message: String) {
        self.line = line
        self.place = place
        self.message = message
    }

    /// `line 12: definitions.upload.retry.attempts: expected 1 to 1000, found 0`, a line for each problem.
    public var description: String { descriptions.joined(separator: "\n") }

    /// Each problem once, this one first.
    public var descriptions: [String] {
        let own = [line.map { "line \($0)" }, place, message].compactMap(\.self).joined(separator: ": ")
        return [own] + others.flatMap(\.descriptions)
    }
}
