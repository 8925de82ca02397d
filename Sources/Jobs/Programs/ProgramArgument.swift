/// One argument of a program: literal text, and fields of the job's input.
///
/// `{name}` is replaced by a field's value and `{output}` by the path of the result file; `{{` and `}}` are literal
/// braces. A value becomes part of exactly one argument, whatever characters it contains. A list of strings is the
/// exception: each of its strings becomes one argument.
public struct ProgramArgument: Hashable, Sendable {
    enum Piece: Hashable, Sendable {
        case text(String)
        case field(String)
        case output
    }

    /// The argument as it was written.
    public let text: String
    let pieces: [Piece]

    static let output = "output"

    /// Whether the argument contains the path of the result file.
    public var mentionsOutput: Bool { pieces.contains(.output) }

    /// The fields that the argument contains.
    var fieldNames: [String] {
        pieces.compactMap { if case .field(let name) = $0 { name } else { nil } }
    }

    /// The field whose value is the whole argument; nil if there is none.
    var onlyField: String? {
        guard pieces.count == 1, case .field(let name) = pieces[0] else { return nil }
        return name
    }

    /// Whether the argument begins with a value, so that the value could be mistaken for an option.
    var beginsWithValue: Bool {
        if case .field = pieces.first { return true }
        return false
    }

    /// Whether the argument is an option together with its value, such as `--width={width}`.
    var isCompleteOption: Bool {
        guard case .text(let beginning) = pieces.first else { return false }
        return beginning.hasPrefix("--") && beginning.contains("=")
    }

    /// Whether the argument is an option that may take the next argument as its value.
    var mayTakeNext: Bool { text.utf8.first == UInt8(ascii: "-") && text != "--" && !isCompleteOption }

    init(_ text: String) throws(ProgramArgumentProblem) {
        self.text = text
        var pieces: [Piece] = []
        var literal = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "{" || character == "}" else {
                literal.append(character)
                continue
            }
            if rest.first == character {
                literal.append(character)
                rest.removeFirst()
                continue
            }
            guard character == "{", let end = rest.firstIndex(of: "}") else { throw .unpairedBrace(character) }
            let name = String(rest[..<end])
            guard Names.isNodeName(name) else { throw .notAField(name) }
            if !literal.isEmpty { pieces.append(.text(literal)) }
            literal = ""
            pieces.append(name == Self.output ? .output : .field(name))
            rest = rest[rest.index(after: end)...]
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
        self.pieces = pieces
    }
}

/// The reason why an argument in a definition is invalid.
enum ProgramArgumentProblem: Error, CustomStringConvertible {
    case unpairedBrace(Character)
    case notAField(String)

    var description: String {
        switch self {
        case .unpairedBrace(let brace):
            "contains a single \"\(brace)\"; write \"\(brace)\(brace)\" for the character, or {name} for a field"
        case .notAField(let name):
            "\"{\(HiddenCharacter.excerpt(of: name))}\" is not a field; \(Names.nodeNameRule), or write {{ and }} for the characters"
        }
    }
}
