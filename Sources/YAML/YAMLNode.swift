/// A value of a YAML document, with the line it begins on.
public struct YAMLNode: Sendable {
    public enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        /// The members in the document's order, each name once.
        case mapping([YAMLMember])
    }

    public var content: Content
    /// The line number, counted from 1.
    public var line: Int
    /// How many levels are nested below this value.
    let height: Int

    /// Reads a document. Each alias is replaced by its value, which is stored only once. Values may be nested up to 100
    /// levels deep, including the values of aliases.
    ///
    /// - Returns: The root value, or nil if the text is empty or contains only comments.
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
    /// The tag as written, or in full for standard tags such as `!!str`; nil if there is none.
    public var tag: String?
    /// Whether the scalar is written without quotes, so that `12` is a number and `~` is null.
    public var isPlain: Bool
}
