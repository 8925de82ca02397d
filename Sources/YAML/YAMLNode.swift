/// A value of a YAML document, with the line it begins on.
public struct YAMLNode: Sendable {
    public enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        /// In the document's order; no name stands twice.
        case mapping([YAMLMember])
    }

    public var content: Content
    /// From 1.
    public var line: Int
    /// How many values stand in one another below this one.
    let height: Int

    /// Reads a document. An alias is replaced by what it names, so a value that is named often is stored once; no value
    /// stands more than 100 deep, aliases followed.
    ///
    /// - Returns: Nil where the text holds no value: it is empty, or only comments.
    public init?(_ text: String) throws(YAMLProblem) {
        var reader = YAMLReader(text)
        guard let root = try reader.readDocument() else { return nil }
        self = root
    }

    init(_ content: Content, line: Int) {
        self.content = content
        self.line = line
        height =
            switch content {
            case .scalar: 0
            case .sequence(let elements): 1 + (elements.lazy.map(\.height).max() ?? 0)
            case .mapping(let members): 1 + (members.lazy.map { max($0.name.height, $0.value.height) }.max() ?? 0)
            }
    }

    public var scalar: YAMLScalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }
}

/// A name and its value in a map.
public struct YAMLMember: Sendable {
    public var name: YAMLNode
    public var value: YAMLNode
}

/// A single value, as text.
public struct YAMLScalar: Hashable, Sendable {
    public var text: String
    /// As written or, for the usual `!!str`, in full; nil where none is given.
    public var tag: String?
    /// Whether it stands without quotes, so that `12` is a number and `~` nothing.
    public var isPlain: Bool
}
