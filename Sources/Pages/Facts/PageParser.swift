/// Parses a page without building a tree: it tracks only the elements that are open. A ``FactCollector`` turns tags and
/// text into ``PageFacts``.
///
/// Elements that browsers do not show as part of the page are skipped: scripts, styles, `template`, `noscript`,
/// `iframe`, `textarea`, `select`, `svg`, …. The number of elements, their depth and their attributes are limited, and
/// each byte is read once, so no page takes long.
struct PageParser {
    /// The maximum number of start tags that are read. The rest of the page is left out.
    static let maxElements = 200_000

    private var reader: TagReader
    private var open = ElementStack()
    /// The context of the content of each open element.
    private var contexts: [FactCollector.Context] = []
    private var collector = FactCollector()
    private var elements = 0

    /// - Parameter utf8: The page in valid UTF-8.
    static func parse(_ utf8: [UInt8]) -> PageFacts {
        utf8.withUnsafeBufferPointer { bytes in
            var parser = PageParser(bytes)
            parser.run()
            return parser.collector.facts
        }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { reader = TagReader(bytes) }

    private var context: FactCollector.Context { contexts.last ?? FactCollector.Context() }

    private mutating func run() {
        while elements < Self.maxElements, let token = reader.next() {
            switch token {
            case .text(let range): collector.text(reader.bytes[range], in: context)
            case .rawText(let range, of: let name): collector.rawText(reader.bytes[range], of: name, reader)
            case .start(let name): start(name)
            case .end(let name): end(name)
            case .other: break
            }
        }
        collector.endLine(in: context)
        close(0..<open.count)
        collector.finish()
    }

    private mutating func start(_ name: HTMLName) {
        elements += 1
        let kind = ElementKind(of: name)
        switch name {
        case "svg", "math": skipForeign(name)
        case "template": reader.skipTemplate()
        case "select": skipSelect()
        case "html": collector.html(reader)
        case "head", "body", "frameset": collector.endLine(in: context)
        default: if !kind.contains(.rawText) { element(name, kind) }
        }
    }

    private mutating func element(_ name: HTMLName, _ kind: ElementKind) {
        if !kind.contains(.inline) { collector.endLine(in: context) }
        if name == "a" || name == "button", let outer = open.closed(byEndOf: name, kind) { close(outer) }
        guard let closed = open.closed(byStartOf: name, kind) else { return }
        close(closed)
        let inner = collector.start(name, reader, number: elements, depth: open.count, in: context)
        if kind.contains(.void) {
            collector.end(open.count..<open.count + 1, endsRow: false)
        } else {
            open.push(name, kind)
            contexts.append(inner)
        }
    }

    private mutating func end(_ name: HTMLName) {
        // The standard treats `</br>` as `<br>`.
        if name == "br" { return start(name) }
        let kind = ElementKind(of: name)
        guard let closed = open.closed(byEndOf: name, kind) else { return }
        if !kind.contains(.inline) { collector.endLine(in: context) }
        close(closed)
    }

    private mutating func close(_ range: Range<Int>) {
        if range.isEmpty { return }
        collector.end(range, endsRow: open.endsBlock(range))
        open.remove(range)
        contexts.removeSubrange(range)
    }

    private mutating func skipSelect() {
        while let token = reader.next() {
            switch token {
            case .start("select"), .start("input"), .start("textarea"), .end("select"): return
            default: break
            }
        }
    }

    /// Skips SVG or MathML. As the standard requires (13.2.6.5), it also stops at a start tag that is not allowed inside.
    private mutating func skipForeign(_ root: HTMLName) {
        if reader.isSelfClosing { return }
        var roots = 1
        var integrationPoints = 0
        defer { reader.isXML = false }
        while roots > 0 {
            reader.isXML = integrationPoints == 0
            guard let token = reader.next() else { return }
            switch token {
            case .start(root): if !reader.isSelfClosing { roots += 1 }
            case .end(root): roots -= 1
            case .start(let name):
                let kind = ElementKind(of: name)
                if kind.contains(.integrationPoint) {
                    if !reader.isSelfClosing { integrationPoints += 1 }
                } else if integrationPoints == 0, kind.contains(.endsForeign) {
                    reader.isXML = false
                    return start(name)
                }
            case .end(let name):
                if integrationPoints > 0, ElementKind(of: name).contains(.integrationPoint) { integrationPoints -= 1 }
            case .text, .rawText, .other: break
            }
        }
    }
}
