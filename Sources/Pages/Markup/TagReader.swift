import Glibc
import WebSyntax

/// Splits a page into text and tags like the HTML standard's tokenizer (13.2.5), including comments, quoted values and
/// raw text.
///
/// It makes one pass without backtracking and looks at every byte a bounded number of times. It works for any encoding
/// that is a superset of ASCII.
struct TagReader {
    struct Attribute {
        var name: HTMLName
        /// The value as written; empty if there is none.
        var value: Range<Int>
    }

    enum Token {
        case text(Range<Int>)
        /// The text of the element that the preceding start tag began, in which nothing is a tag: a script, a style
        /// sheet, a title.
        case rawText(Range<Int>, of: HTMLName)
        /// A start tag. Its attributes are in the reader's ``TagReader/attributes``.
        case start(HTMLName)
        case end(HTMLName)
        /// A comment, document type or processing instruction.
        case other
    }

    /// The maximum number of attributes of a tag that are kept. More are read and dropped.
    static let maxAttributes = 64
    static let maxValueBytes = 32 << 10

    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var at: Int
    /// The attributes of the last tag. If a name occurs twice, the first attribute is valid.
    private(set) var attributes: [Attribute] = []
    /// The name of the last tag as written.
    private(set) var name = 0..<0
    /// The element whose raw text is next.
    private(set) var rawElement: HTMLName?
    /// Whether the markup follows the rules of XML, as in SVG and MathML: `<![CDATA[` begins text, and no element has raw
    /// text.
    var isXML: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int = 0, isXML: Bool = false) {
        self.bytes = bytes
        self.isXML = isXML
        at = start
    }

    private var end: Int { bytes.count }

    /// Returns the next token; nil at the end of the bytes, and for a tag that is incomplete there (HTML standard,
    /// 13.2.5.6: "eof-in-tag").
    mutating func next() -> Token? {
        guard at < end else { return nil }
        if let element = rawElement {
            rawElement = nil
            return .rawText(rawText(of: element), of: element)
        }
        let start = at
        let second = bytes[at] == 0x3C && at + 1 < end ? bytes[at + 1] : 0
        switch second {
        case UInt8(ascii: "!"):
            skipMarkupDeclaration()
            return .other
        case UInt8(ascii: "?"):
            skip(past: 0x3E, from: at + 2)
            return .other
        case UInt8(ascii: "/") where at + 2 < end:
            guard Self.isLetter(bytes[at + 2]) else {
                skip(past: 0x3E, from: at + 2)
                return .other
            }
            at += 2
            return readTag().map { .end($0) }
        case let letter where Self.isLetter(letter):
            at += 1
            guard let element = readTag() else { return nil }
            if !isXML, ElementKind(of: element).contains(.rawText) { rawElement = element }
            return .start(element)
        default:
            at = find(0x3C, from: at + 1) ?? end
            return .text(start..<at)
        }
    }

    /// Skips a template whose start tag was just read, and the templates in it.
    mutating func skipTemplate() {
        var open = 1
        while open > 0, let token = next() {
            if case .start("template") = token { open += 1 } else if case .end("template") = token { open -= 1 }
        }
    }

    /// Reads up to the end tag of the last start tag's element.
    private mutating func rawText(of element: HTMLName) -> Range<Int> {
        if element == "script" { return scriptText() }
        let start = at
        at = end
        if element == "plaintext" { return start..<end }
        var from = start
        while let less = find(0x3C, from: from) {
            from = less + 1
            guard from < end, bytes[from] == UInt8(ascii: "/"), isTag(element, named: from + 1) else { continue }
            at = less
            break
        }
        return start..<at
    }

    /// Reads the text of a script.
    ///
    /// After `<!--`, another `<script>` and its end tag are also text (HTML standard, 13.2.5.20 to 13.2.5.31).
    private mutating func scriptText() -> Range<Int> {
        let start = at
        var isEscaped = false
        var isDoubleEscaped = false
        while at < end {
            guard isEscaped || bytes[at] == 0x3C else {
                at = find(0x3C, from: at) ?? end
                continue
            }
            switch bytes[at] {
            case 0x3C where follows("</") && isTag("script", named: at + 2):
                if !isDoubleEscaped { return start..<at }
                isDoubleEscaped = false
                at += 1
            case 0x3C where isEscaped && isTag("script", named: at + 1):
                isDoubleEscaped = true
                at += 1
            case 0x3C where !isEscaped && follows("<!--"):
                isEscaped = true
                // Continue at the dashes, since the `-->` in `<!-->` already ends the comment.
                at += 2
            case UInt8(ascii: "-") where follows("-->"):
                (isEscaped, isDoubleEscaped) = (false, false)
                at += 3
            default:
                at += 1
            }
        }
        return start..<end
    }

    /// Whether a tag's name begins at `start`, is as long as the last tag's, ends there, and is `element`.
    private func isTag(_ element: HTMLName, named start: Int) -> Bool {
        let after = start + name.count
        guard after <= end, HTMLName(bytes[start..<after]) == element else { return false }
        return after == end || bytes[after].isSpace || bytes[after] == UInt8(ascii: "/") || bytes[after] == 0x3E
    }

    /// Whether the bytes from here on begin with `text`, in any case.
    private func follows(_ text: StaticString) -> Bool {
        guard at + text.utf8CodeUnitCount <= end else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { offset in
            let byte = bytes[at + offset]
            return ((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) == text.utf8Start[offset]
        }
    }

    /// Whether the tag just read ends in `/>`.
    var isSelfClosing: Bool { at >= 2 && bytes[at - 2] == UInt8(ascii: "/") }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Returns the value of an attribute as written, without its character references replaced.
    func bytes(of name: HTMLName) -> UnsafeBufferPointer<UInt8>? {
        attributes.first { $0.name == name }.map { UnsafeBufferPointer(rebasing: bytes[$0.value]) }
    }

    func has(_ name: HTMLName) -> Bool { attributes.contains { $0.name == name } }

    /// The first 32 KiB of an attribute's value; empty if the attribute has none, nil if there is no such attribute.
    subscript(name: HTMLName) -> String? {
        bytes(of: name).map {
            CharacterReferences.decode(String(decoding: $0, as: UTF8.self)).cut(to: Self.maxValueBytes)
        }
    }

    private mutating func skip(past byte: UInt8, from start: Int) {
        at = find(byte, from: start).map { $0 + 1 } ?? end
    }

    private func find(_ byte: UInt8, from start: Int) -> Int? {
        guard start < end, let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), end - start)
        else {
            return nil
        }
        return found.assumingMemoryBound(to: UInt8.self) - UnsafeMutablePointer(mutating: base)
    }

    private mutating func skipMarkupDeclaration() {
        if isXML, follows("<![cdata[") {
            at += 9
            while at < end, !follows("]]>") { at = find(UInt8(ascii: "]"), from: at + 1) ?? end }
            at = min(at + 3, end)
            return
        }
        guard at + 3 < end, bytes[at + 2] == UInt8(ascii: "-"), bytes[at + 3] == UInt8(ascii: "-") else {
            skip(past: 0x3E, from: at + 2)
            return
        }
        var from = at + 4
        while let close = find(0x3E, from: from) {
            from = close + 1
            func isDash(_ place: Int) -> Bool { bytes[place] == UInt8(ascii: "-") }
            // The dashes of `<!-->` and `<!--->` both begin and end the comment.
            if isDash(close - 1) && isDash(close - 2)
                || close >= at + 7 && bytes[close - 1] == UInt8(ascii: "!") && isDash(close - 2) && isDash(close - 3)
            {
                at = from
                return
            }
        }
        at = end
    }

    /// Reads a tag from its name to its `>`. Returns nil if the input ends first.
    private mutating func readTag() -> HTMLName? {
        let start = at
        while at < end, !bytes[at].isSpace, bytes[at] != UInt8(ascii: "/"), bytes[at] != 0x3E { at += 1 }
        name = start..<at
        attributes.removeAll(keepingCapacity: true)
        while at < end {
            let byte = bytes[at]
            if byte == 0x3E {
                at += 1
                return HTMLName(bytes[name])
            }
            if byte.isSpace || byte == UInt8(ascii: "/") {
                at += 1
                continue
            }
            let start = at
            at += 1
            while at < end, !bytes[at].isSpace, bytes[at] != UInt8(ascii: "/"), bytes[at] != 0x3E,
                bytes[at] != UInt8(ascii: "=")
            {
                at += 1
            }
            let name = HTMLName(bytes[start..<at])
            let value = readValue()
            if attributes.count < Self.maxAttributes { attributes.append(Attribute(name: name, value: value)) }
        }
        return nil
    }

    private mutating func readValue() -> Range<Int> {
        var look = at
        while look < end, bytes[look].isSpace { look += 1 }
        guard look < end, bytes[look] == UInt8(ascii: "=") else { return at..<at }
        look += 1
        while look < end, bytes[look].isSpace { look += 1 }
        guard look < end else {
            at = end
            return end..<end
        }
        let quote = bytes[look]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            let close = find(quote, from: look + 1) ?? end
            at = min(close + 1, end)
            return look + 1..<close
        }
        at = look
        while at < end, !bytes[at].isSpace, bytes[at] != 0x3E { at += 1 }
        return look..<at
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) && byte >= 0x41 }
}
