import WebSyntax

/// Makes a page small and harmless before the parser reads it.
///
/// The reducer removes elements that browsers do not show as part of the page (scripts, styles, comments, `template`,
/// `noscript`, `iframe`, `textarea`, `select`, `svg`, …). It also removes what says nothing about the page: elements
/// without a relevant name or attribute, and text that ``FactCollector`` does not use. It tracks the open elements to
/// match end tags with start tags. It limits the number of elements, their depth, their attributes and the length of
/// values. It makes one linear pass, so no page makes it, or the parser after it, slow.
struct PageReducer {
    /// The maximum number of start tags that are read. The rest of the page is left out.
    static let maxElements = 200_000
    /// The maximum number of elements that are passed on to the parser.
    static let maxKept = 20_000
    static let maxDepth = 256
    static let maxValueBytes = 32 << 10

    struct Reduced {
        var html: [UInt8] = []
        /// The texts of `script type="application/ld+json"` elements.
        var jsonLD: [[UInt8]] = []
        /// The number of words in paragraphs.
        var words = 0
        /// The `lang` of the first `html` tag that has one. The standard adds the attributes of later `html` tags to
        /// the element.
        var language: String?
        var shown = ShownText()
    }

    private struct Open {
        var name: TagName
        var isBeside: Bool
        var isKept: Bool
        /// Whether the element's text is passed on.
        var isNoted: Bool
        var isParagraph: Bool
    }

    private var reduced = Reduced()
    private var reader: TagReader
    private var stack: [Open] = []
    private var elements = 0
    private var kept = 0
    private var noted = 0
    private var paragraphs = 0
    private var beside = 0

    static func reduce(_ utf8: [UInt8]) -> Reduced {
        utf8.withUnsafeBufferPointer { bytes in
            var reducer = PageReducer(bytes)
            reducer.run()
            return reducer.reduced
        }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        reader = TagReader(bytes)
        reduced.html.reserveCapacity(16 << 10)
    }

    private mutating func run() {
        while elements < Self.maxElements, kept < Self.maxKept, let token = reader.next() {
            switch token {
            case .text(let range): text(range)
            case .start(let name): start(name)
            case .end(let name): end(name)
            case .other: break
            }
        }
        endLine()
        reduced.shown.finish()
    }

    private mutating func endLine() {
        reduced.shown.endLine(isInParagraph: paragraphs > 0, isBeside: beside > 0)
    }

    private mutating func start(_ range: Range<Int>) {
        elements += 1
        let name = TagName(reader.bytes[range])
        switch name {
        case .script: script()
        case .style, .noscript, .iframe, .textarea, .noembed, .noframes, .xmp: reader.skipRawText(until: range)
        case .plaintext: reader.skipAll()
        case .title: title(range)
        case .svg, .math: skipForeign(name)
        case .template: skipTemplate()
        case .select: skipSelect()
        case .html: html()
        default: element(name, range)
        }
    }

    private mutating func element(_ name: TagName, _ range: Range<Int>) {
        let telling = Telling(name, reader)
        if !name.isInline { endLine() }
        if telling.isHeading, beside == 0 { reduced.shown.beginHeading(isNamed: telling.isNamedHeading) }
        let isKept = (telling.isKept || noted > 0) && Self.isPlain(reader.bytes[range])
        if !name.isVoid {
            guard stack.count < Self.maxDepth else { return }
            let isNoted = telling.isNoted && isKept
            stack.append(
                Open(
                    name: name, isBeside: telling.isBeside, isKept: isKept, isNoted: isNoted, isParagraph: name == .p))
            if telling.isBeside { beside += 1 }
            if isNoted { noted += 1 }
            if name == .p { paragraphs += 1 }
        }
        guard isKept else { return }
        kept += 1
        reduced.html.append(0x3C)
        append(lowercased: range)
        for attribute in reader.attributes where telling.keeps(attribute.name, in: reader) {
            reduced.html.append(0x20)
            append(lowercased: attribute.name)
            reduced.html += "=\"".utf8
            append(value: attribute.value)
            reduced.html.append(UInt8(ascii: "\""))
        }
        // The element's number in the original page. It shows how far apart two elements were, including everything
        // removed between them.
        if telling.isPlaced { reduced.html += " place=\"\(elements)\"".utf8 }
        reduced.html.append(0x3E)
    }

    private mutating func end(_ range: Range<Int>) {
        let name = TagName(reader.bytes[range])
        guard !name.isVoid, let index = stack.lastIndex(where: { $0.name == name }) else { return }
        let isKept = stack[index].isKept
        if !name.isInline { endLine() }
        while stack.count > index {
            let closed = stack.removeLast()
            if closed.isNoted { noted -= 1 }
            if closed.isParagraph { paragraphs -= 1 }
            if closed.isBeside { beside -= 1 }
        }
        if isKept {
            reduced.html += "</".utf8
            append(lowercased: range)
            reduced.html.append(0x3E)
        }
    }

    private mutating func text(_ range: Range<Int>) {
        if paragraphs > 0 { countWords(range) }
        reduced.shown.append(reader.bytes[range], isInParagraph: paragraphs > 0)
        if noted > 0 { append(text: range) }
    }

    private mutating func countWords(_ range: Range<Int>) {
        var isInWord = false
        for byte in reader.bytes[range] {
            let isSpace = byte.isSpace
            if !isSpace, !isInWord { reduced.words += 1 }
            isInWord = !isSpace
        }
    }

    private mutating func script() {
        let type = reader.attribute("type").map { reader.text($0).trimmingSpaces.lowercased() }
        let text = reader.scriptText()
        if let type, type.hasPrefix("application/ld+json"), reduced.jsonLD.count < 64, text.count <= 512 << 10 {
            reduced.jsonLD.append(Array(reader.bytes[text]))
        }
    }

    private mutating func title(_ range: Range<Int>) {
        let text = reader.rawText(until: "title")
        kept += 1
        reduced.html += "<title>".utf8
        append(text: text)
        reduced.html += "</title>".utf8
    }

    private mutating func html() {
        guard reduced.language == nil, let value = reader.attribute("lang") ?? reader.attribute("xml:lang") else {
            return
        }
        let language = reader.text(value).trimmingSpaces
        if !language.isEmpty { reduced.language = language }
    }

    private mutating func skipTemplate() {
        var open = 1
        while open > 0, let token = reader.next() {
            switch token {
            case .start(let range):
                let name = TagName(reader.bytes[range])
                if name == .template { open += 1 } else if name.isRawText { reader.skipRawText(until: range) }
            case .end(let range): if TagName(reader.bytes[range]) == .template { open -= 1 }
            case .text, .other: break
            }
        }
    }

    private mutating func skipSelect() {
        while let token = reader.next() {
            switch token {
            case .start(let range):
                let name = TagName(reader.bytes[range])
                if name.isRawText { reader.skipRawText(until: range) }
                if name == .select || name == .input || name == .textarea { return }
            case .end(let range): if TagName(reader.bytes[range]) == .select { return }
            case .text, .other: break
            }
        }
    }

    /// Skips SVG or MathML. As the standard requires, it also stops at a start tag that is not allowed inside.
    private mutating func skipForeign(_ root: TagName) {
        if reader.isSelfClosing { return }
        var open = 1
        var integration = 0
        defer { reader.readsCDATA = false }
        while open > 0 {
            reader.readsCDATA = integration == 0
            guard let token = reader.next() else { return }
            switch token {
            case .start(let range):
                let name = TagName(reader.bytes[range])
                if name == root {
                    if !reader.isSelfClosing { open += 1 }
                } else if name.isIntegrationPoint {
                    if !reader.isSelfClosing { integration += 1 }
                } else if integration == 0, name.isForeignBreakout {
                    reader.readsCDATA = false
                    start(range)
                    return
                } else if name == .script || name == .style, !reader.isSelfClosing {
                    reader.skipRawText(until: range)
                }
            case .end(let range):
                let name = TagName(reader.bytes[range])
                if name == root { open -= 1 }
                if integration > 0, name.isIntegrationPoint { integration -= 1 }
            case .text, .other: break
            }
        }
    }

    private static func isPlain(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        name.count <= 40
            && name.allSatisfy {
                (0x61...0x7A).contains($0 | 0x20) && $0 >= 0x41 || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    private mutating func append(lowercased range: Range<Int>) {
        for byte in reader.bytes[range] { reduced.html.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
    }

    private mutating func append(text range: Range<Int>) {
        for byte in reader.bytes[range] {
            if byte == 0x3C { reduced.html += "&lt;".utf8 } else { reduced.html.append(byte) }
        }
    }

    private mutating func append(value range: Range<Int>) {
        var bytes = reader.bytes[range]
        if bytes.count > Self.maxValueBytes {
            bytes = bytes.prefix(Self.maxValueBytes)
            // Do not cut in the middle of a character.
            while let last = bytes.last, last & 0xC0 == 0x80 { bytes = bytes.dropLast() }
            bytes = bytes.dropLast()
        }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""): reduced.html += "&quot;".utf8
            case 0x3C: reduced.html += "&lt;".utf8
            default: reduced.html.append(byte)
            }
        }
    }
}
