/// A value of a YAML document, with its line number.
public struct YAMLNode: Sendable {
    /// The content of a value, by its type.
    public enum Content: Sendable {
        /// A single value.
        case scalar(YAMLScalar)
        /// A list of values.
        case sequence([YAMLNode])
        /// A map. Its members are in the document's order, and each name occurs once.
        case mapping([YAMLMember])
    }

    /// The content of the value.
    public var content: Content
    /// The number of the line on which the value begins, from 1.
    public var line: Int
    /// The number of levels nested below this value.
    let height: Int

    /// Parses a document. Each alias is replaced by its value, which is stored only once. Values may be nested up to
    /// 100 levels deep, including the values of aliases.
    ///
    /// - Returns: The root value; nil if the text is empty or contains only comments.
    /// - Throws: ``YAMLProblem`` with the line of the first error.
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

    /// The value as a scalar; nil if it is a list or a map.
    public var scalar: YAMLScalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }
}

/// A name with its value, in a map.
public struct YAMLMember: Sendable {
    /// The name, which is usually a scalar.
    public var name: YAMLNode
    /// The value.
    public var value: YAMLNode
}

/// A single value as text.
public struct YAMLScalar: Hashable, Sendable {
    /// The text, without quotes and with its escapes decoded.
    public var text: String
    /// The tag as written, or in full for standard tags such as `!!str`; nil if there is none.
    public var tag: String?
    /// Whether the scalar is written without quotes, so that `12` is a number and `~` is null.
    public var isPlain: Bool
}
