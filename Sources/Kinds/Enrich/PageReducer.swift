/// Makes a page small and harmless before the parser sees it.
///
/// What browsers do not treat as part of the page is left out (scripts, styles, comments, `template`, `noscript`, `iframe`,
/// `textarea`, `select`, `svg`, …), attributes that say nothing about a page are dropped, and the number of elements, their
/// depth and the length of values are capped. One linear pass; so nothing a page holds makes the parser slow.
struct PageReducer {
    /// Elements that are passed on; what follows is left out.
    static let maxElements = 60_000
    static let maxDepth = 256
    static let maxValueBytes = 32 << 10

    private(set) var html: [UInt8] = []
    /// The texts of `script type="application/ld+json"`.
    private(set) var jsonLD: [[UInt8]] = []
    private var reader: TagReader
    private var depth = 0
    private var elements = 0

    static func reduce(_ utf8: [UInt8]) -> (html: [UInt8], jsonLD: [[UInt8]]) {
        utf8.withUnsafeBufferPointer { bytes in
            var reducer = PageReducer(bytes)
            reducer.run()
            return (reducer.html, reducer.jsonLD)
        }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        reader = TagReader(bytes)
        html.reserveCapacity(bytes.count / 2)
    }

    private mutating func run() {
        while elements < Self.maxElements, let token = reader.next() {
            switch token {
            case .text(let range): append(text: range)
            case .start(let name): start(name)
            case .end(let name): end(name)
            case .other: break
            }
        }
    }

    private mutating func start(_ name: Range<Int>) {
        if skipRawText(name) { return }
        if reader.equals(name, "title") {
            let text = reader.rawText(until: "title")
            html += "<title>".utf8
            append(text: text)
            html += "</title>".utf8
            elements += 1
            return
        }
        for foreign in ["svg", "math"] as [StaticString] where reader.equals(name, foreign) {
            skipForeign(foreign)
            return
        }
        if reader.equals(name, "template") {
            skipTemplate()
            return
        }
        if reader.equals(name, "select") {
            skipSelect()
            return
        }
        guard Self.isPlainName(reader.bytes[name]) else { return }
        let isVoid = isVoid(name)
        if !isVoid {
            guard depth < Self.maxDepth else { return }
            depth += 1
        }
        elements += 1
        html.append(0x3C)
        append(lowercased: name)
        for attribute in reader.attributes where Self.isKept(attribute, in: reader) {
            html.append(0x20)
            append(lowercased: attribute.name)
            html += "=\"".utf8
            append(value: attribute.value)
            html.append(UInt8(ascii: "\""))
        }
        html.append(0x3E)
    }

    private mutating func end(_ name: Range<Int>) {
        guard Self.isPlainName(reader.bytes[name]), !isVoid(name), depth > 0 else { return }
        depth -= 1
        html += "</".utf8
        append(lowercased: name)
        html.append(0x3E)
    }

    /// Elements whose content is text to the tokenizer, whatever it looks like.
    private mutating func skipRawText(_ name: Range<Int>) -> Bool {
        if reader.equals(name, "script") {
            let isData = reader.attribute("type").map { reader.text($0).trimmingSpaces.lowercased() }
            let text = reader.rawText(until: "script")
            if let isData, isData.hasPrefix("application/ld+json"), jsonLD.count < 64, text.count <= 512 << 10 {
                jsonLD.append(Array(reader.bytes[text]))
            }
            return true
        }
        for raw in ["style", "noscript", "iframe", "textarea", "noembed", "noframes", "xmp"] as [StaticString]
        where reader.equals(name, raw) {
            _ = reader.rawText(until: raw)
            return true
        }
        if reader.equals(name, "plaintext") {
            _ = reader.rawText(until: "plaintext\u{0}")
            return true
        }
        return false
    }

    private mutating func skipTemplate() {
        var open = 1
        while open > 0, let token = reader.next() {
            switch token {
            case .start(let name):
                if reader.equals(name, "template") { open += 1 } else { _ = skipRawText(name) }
            case .end(let name): if reader.equals(name, "template") { open -= 1 }
            case .text, .other: break
            }
        }
    }

    private mutating func skipSelect() {
        while let token = reader.next() {
            switch token {
            case .start(let name):
                if ["select", "input", "textarea", "keygen"].contains(where: { reader.equals(name, $0) }) {
                    _ = skipRawText(name)
                    return
                }
                _ = skipRawText(name)
            case .end(let name): if reader.equals(name, "select") { return }
            case .text, .other: break
            }
        }
    }

    /// Leaves out SVG or MathML; ends, as the standard says, also at a start tag that cannot stand in it.
    private mutating func skipForeign(_ root: StaticString) {
        if isSelfClosing { return }
        var open = 1
        var integration = 0
        while open > 0, let token = reader.next() {
            switch token {
            case .start(let name):
                if reader.equals(name, root) {
                    if !isSelfClosing { open += 1 }
                } else if Self.integrationPoints.contains(where: { reader.equals(name, $0) }) {
                    if !isSelfClosing { integration += 1 }
                } else if integration == 0, Self.breakouts.contains(where: { reader.equals(name, $0) }) {
                    start(name)
                    return
                } else {
                    if reader.equals(name, "script") || reader.equals(name, "style") { _ = skipRawText(name) }
                }
            case .end(let name):
                if reader.equals(name, root) { open -= 1 }
                if integration > 0, Self.integrationPoints.contains(where: { reader.equals(name, $0) }) {
                    integration -= 1
                }
            case .text, .other: break
            }
        }
    }

    private static let integrationPoints: [StaticString] = [
        "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext",
    ]

    private static let breakouts: [StaticString] = [
        "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
        "h3", "h4",
        "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s",
        "small",
        "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var",
    ]

    private var isSelfClosing: Bool { reader.at >= 2 && reader.bytes[reader.at - 2] == UInt8(ascii: "/") }

    private func isVoid(_ name: Range<Int>) -> Bool {
        let voids: [StaticString] = [
            "meta", "link", "img", "br", "input", "hr", "base", "area", "col", "embed", "param", "source", "track",
            "wbr",
        ]
        return voids.contains { reader.equals(name, $0) }
    }

    private static func isPlainName(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        name.count <= 40
            && name.allSatisfy {
                (0x61...0x7A).contains($0 | 0x20) && $0 >= 0x41 || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    private static let kept: Set<String> = [
        "name", "property", "content", "itemprop", "itemscope", "itemtype", "itemref", "rel", "href", "src", "type",
        "sizes",
        "media", "hreflang", "title", "lang", "http-equiv", "class", "id", "datetime", "pubdate", "about", "typeof",
        "resource",
        "value", "alt", "width", "height", "color", "data-src", "xml:lang",
    ]

    private static func isKept(_ attribute: TagReader.Attribute, in reader: TagReader) -> Bool {
        attribute.name.count <= 12 && kept.contains(reader.text(attribute.name).lowercased())
    }

    private mutating func append(lowercased range: Range<Int>) {
        for byte in reader.bytes[range] { html.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
    }

    private mutating func append(text range: Range<Int>) {
        for byte in reader.bytes[range] {
            if byte == 0x3C { html += "&lt;".utf8 } else { html.append(byte) }
        }
    }

    private mutating func append(value range: Range<Int>) {
        var bytes = reader.bytes[range].prefix(Self.maxValueBytes)
        // Not in the middle of a character.
        while bytes.count == Self.maxValueBytes, let last = bytes.last, last & 0xC0 == 0x80 { bytes = bytes.dropLast() }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""): html += "&quot;".utf8
            case 0x3C: html += "&lt;".utf8
            default: html.append(byte)
            }
        }
    }
}
