import WebSyntax

/// Finds the end of a page's head in bytes that arrive piece by piece. It looks at each byte once.
///
/// It ignores `</head>` and `<body` in comments, scripts and attribute values. If it is still mistaken, it reports the
/// end too early. That is harmless: the caller then checks whether the head contains all metadata, and reads on if it
/// does not.
package struct HeadScanner {
    private enum State {
        case text
        case tag
        /// After the name of a tag, between attributes.
        case attributes
        /// After the `=` of an attribute.
        case value
        case unquoted
        case quoted
        case comment
        case raw
    }

    private var state = State.text
    private var at = 0
    /// The name of the tag being read, in lower case and with the slash of an end tag. In raw text it begins with `<`.
    private var name: [UInt8] = []
    /// The name that ends the current raw text, such as `/script`; empty outside raw text.
    private var rawEnd: [UInt8] = []
    private var quote: UInt8 = 0

    private static let rawNames: Set<[UInt8]> = Set(
        ["script", "style", "title", "noscript", "template"].map { Array($0.utf8) })
    private static let body = Array("body".utf8)
    private static let headEnd = Array("/head".utf8)
    private static let commentStart = Array("!--".utf8)

    package init() {}

    /// Looks at the bytes that arrived since the last call.
    ///
    /// - Parameter bytes: All bytes received so far.
    /// - Returns: Whether `bytes` contains the end of the head.
    package mutating func advance(to bytes: [UInt8]) -> Bool {
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            switch state {
            case .text, .raw:
                if byte == 0x3C {
                    name.removeAll(keepingCapacity: true)
                    if state == .text { state = .tag } else { name = [0x3C] }
                } else if state == .raw, !name.isEmpty {
                    name.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
                    if name.dropFirst().elementsEqual(rawEnd) {
                        state = .text
                        name.removeAll(keepingCapacity: true)
                    } else if name.count > rawEnd.count {
                        name.removeAll(keepingCapacity: true)
                    }
                }
            case .tag:
                if byte.isSpace || byte == 0x3E || byte == UInt8(ascii: "/") && !name.isEmpty || name.count > 16 {
                    if name == Self.headEnd || name == Self.body { return true }
                    rawEnd = Self.rawNames.contains(name) ? Array("/".utf8) + name : []
                    // A tag begins with a letter, `/` or `!`. Anything else after `<` is text.
                    let isTag = name.first.map { $0 >= UInt8(ascii: "a") || $0 == UInt8(ascii: "/") || $0 == 0x21 }
                    state = isTag == true ? .attributes : .text
                    if byte == 0x3E { endTag() }
                } else {
                    name.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
                    if name == Self.commentStart { state = .comment }
                }
            case .attributes:
                if byte == 0x3E { endTag() } else if byte == UInt8(ascii: "=") { state = .value }
            case .value:
                if byte == 0x3E {
                    endTag()
                } else if byte == 0x22 || byte == 0x27 {
                    quote = byte
                    state = .quoted
                } else if !byte.isSpace {
                    state = .unquoted
                }
            case .unquoted: if byte == 0x3E { endTag() } else if byte.isSpace { state = .attributes }
            case .quoted: if byte == quote { state = .attributes }
            case .comment:
                if byte == 0x3E, at >= 3, bytes[at - 2] == UInt8(ascii: "-"), bytes[at - 3] == UInt8(ascii: "-") {
                    state = .text
                }
            }
        }
        return false
    }

    private mutating func endTag() {
        state = rawEnd.isEmpty ? .text : .raw
        name.removeAll(keepingCapacity: true)
    }
}
