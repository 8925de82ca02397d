import Glibc
import WebSyntax

/// Finds tags in bytes like the HTML standard's tokenizer, including comments, quoted values and raw text.
///
/// It makes one pass without backtracking and looks at every byte a bounded number of times. It works for any encoding
/// that is a superset of ASCII.
struct TagReader {
    struct Attribute {
        /// The name as written. Comparisons must ignore case.
        var name: Range<Int>
        /// The value; empty if there is none.
        var value: Range<Int>
    }

    enum Token {
        case text(Range<Int>)
        /// A start tag. Its attributes are in the reader's ``TagReader/attributes``.
        case start(name: Range<Int>)
        case end(name: Range<Int>)
        /// A comment, document type or processing instruction.
        case other
    }

    /// The maximum number of attributes of a tag that are kept. More are read and dropped.
    static let maxAttributes = 64

    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var at: Int
    private(set) var attributes: [Attribute] = []
    /// Whether `<![CDATA[` begins text, as in SVG and MathML.
    var readsCDATA = false

    init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int = 0) {
        self.bytes = bytes
        at = start
    }

    private var end: Int { bytes.count }

    mutating func next() -> Token? {
        guard at < end else { return nil }
        let start = at
        if bytes[at] != 0x3C {
            skipText()
            return .text(start..<at)
        }
        guard at + 1 < end else {
            at = end
            return .text(start..<at)
        }
        switch bytes[at + 1] {
        case UInt8(ascii: "!"):
            skipMarkupDeclaration()
            return .other
        case UInt8(ascii: "?"):
            skip(past: 0x3E, from: at + 2)
            return .other
        case UInt8(ascii: "/"):
            guard at + 2 < end else {
                at = end
                return .text(start..<at)
            }
            guard Self.isLetter(bytes[at + 2]) else {
                skip(past: 0x3E, from: at + 2)
                return .other
            }
            at += 2
            let name = readName()
            return readAttributes() ? .end(name: name) : nil
        case let letter where Self.isLetter(letter):
            at += 1
            let name = readName()
            return readAttributes() ? .start(name: name) : nil
        default:
            at += 1
            skipText()
            return .text(start..<at)
        }
    }

    /// Reads the text of a script and stops before its end tag.
    ///
    /// After `<!--`, another `<script>` and its end tag are also text (HTML standard, 13.2.5.20 to 13.2.5.31).
    mutating func scriptText() -> Range<Int> {
        let start = at
        var isEscaped = false
        var isDoubleEscaped = false
        while at < end {
            guard isEscaped || bytes[at] == 0x3C else {
                at = find(0x3C, from: at) ?? end
                continue
            }
            switch bytes[at] {
            case 0x3C where isTag("</script"):
                if !isDoubleEscaped { return start..<at }
                isDoubleEscaped = false
                at += 1
            case 0x3C where isEscaped && isTag("<script"):
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

    private func follows(_ text: StaticString) -> Bool {
        at + text.utf8CodeUnitCount <= end && equals(at..<at + text.utf8CodeUnitCount, text)
    }

    /// Whether a tag begins here with `text`, such as `</script`, and its name ends there.
    private func isTag(_ text: StaticString) -> Bool {
        let after = at + text.utf8CodeUnitCount
        guard follows(text) else { return false }
        return after == end || bytes[after].isSpace || bytes[after] == UInt8(ascii: "/") || bytes[after] == 0x3E
    }

    /// Reads raw text up to `</name` and stops before that end tag. For a script use ``scriptText()``.
    mutating func rawText(until name: StaticString) -> Range<Int> {
        let start = at
        let count = name.utf8CodeUnitCount
        while at < end {
            guard let less = find(0x3C, from: at) else { break }
            let after = less + 2 + count
            if after <= end, bytes[less + 1] == UInt8(ascii: "/"), equals(less + 2..<after, name),
                after == end || bytes[after].isSpace || bytes[after] == UInt8(ascii: "/") || bytes[after] == 0x3E
            {
                at = less
                return start..<less
            }
            at = less + 1
        }
        at = end
        return start..<end
    }

    /// Skips raw text and stops before the end tag with this name.
    mutating func skipRawText(until name: Range<Int>) {
        if equals(name, "script") {
            _ = scriptText()
            return
        }
        let count = name.count
        while let less = find(0x3C, from: at) {
            let after = less + 2 + count
            guard after <= end else { break }
            if bytes[less + 1] == UInt8(ascii: "/"), TagName(bytes[less + 2..<after]) == TagName(bytes[name]),
                after == end || bytes[after].isSpace || bytes[after] == UInt8(ascii: "/") || bytes[after] == 0x3E
            {
                at = less
                return
            }
            at = less + 1
        }
        at = end
    }

    mutating func skipAll() { at = end }

    /// Whether the tag just read ends in `/>`.
    var isSelfClosing: Bool { at >= 2 && bytes[at - 2] == UInt8(ascii: "/") }

    func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for (offset, index) in range.enumerated() {
            var byte = bytes[index]
            if (0x41...0x5A).contains(byte) { byte |= 0x20 }
            if byte != text.utf8Start[offset] { return false }
        }
        return true
    }

    func isExactly(_ range: Range<Int>, _ text: String) -> Bool { bytes[range].elementsEqual(text.utf8) }

    func attribute(_ name: StaticString) -> Range<Int>? { attributes.first { equals($0.name, name) }?.value }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func skipText() {
        at = find(0x3C, from: at) ?? end
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
        if readsCDATA, follows("<![cdata[") {
            at += 9
            while at < end, !follows("]]>") { at = find(UInt8(ascii: "]"), from: at + 1) ?? end }
            at = min(at + 3, end)
            return
        }
        guard at + 3 < end, bytes[at + 2] == UInt8(ascii: "-"), bytes[at + 3] == UInt8(ascii: "-") else {
            skip(past: 0x3E, from: at + 2)
            return
        }
        // `<!-->` and `<!--->` are complete comments.
        var from = at + 4
        if from < end, bytes[from] == 0x3E {
            at = from + 1
            return
        }
        if from + 1 < end, bytes[from] == UInt8(ascii: "-"), bytes[from + 1] == 0x3E {
            at = from + 2
            return
        }
        while let close = find(0x3E, from: from) {
            let isEnd =
                close - 2 >= at + 4 && bytes[close - 1] == UInt8(ascii: "-") && bytes[close - 2] == UInt8(ascii: "-")
                || close - 3 >= at + 4 && bytes[close - 1] == UInt8(ascii: "!") && bytes[close - 2] == UInt8(ascii: "-")
                    && bytes[close - 3] == UInt8(ascii: "-")
            from = close + 1
            if isEnd {
                at = from
                return
            }
        }
        at = end
    }

    private mutating func readName() -> Range<Int> {
        let start = at
        while at < end, !bytes[at].isSpace, bytes[at] != UInt8(ascii: "/"), bytes[at] != 0x3E { at += 1 }
        return start..<at
    }

    /// Reads the attributes of a tag and its `>`.
    ///
    /// - Returns: False if the input ends first. The HTML standard then ignores the tag (13.2.5).
    private mutating func readAttributes() -> Bool {
        attributes.removeAll(keepingCapacity: true)
        while at < end {
            let byte = bytes[at]
            if byte == 0x3E {
                at += 1
                return true
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
            let name = start..<at
            let value = readValue()
            if attributes.count < Self.maxAttributes { attributes.append(Attribute(name: name, value: value)) }
        }
        return false
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
