/// The open elements of a page, and the rules by which a tag closes some of them (HTML standard, 13.2.6).
///
/// The result differs from the standard's tree in three cases: formatting elements that are closed with a block are not
/// opened again behind it, misplaced content of a table stays in the table, and a form leaves its last paragraph open.
struct ElementStack {
    private struct Element {
        let name: HTMLName
        let kind: ElementKind
    }

    /// If this many elements are open, the next one closes the innermost.
    static let maxDepth = 256

    private var elements: [Element] = []
    /// The number of open elements by name, which makes it cheap to ignore a tag.
    private var counts: [HTMLName: Int] = [:]

    var count: Int { elements.count }

    mutating func push(_ name: HTMLName, _ kind: ElementKind) {
        elements.append(Element(name: name, kind: kind))
        counts[name, default: 0] += 1
    }

    mutating func remove(_ range: Range<Int>) {
        for element in elements[range] { counts[element.name, default: 0] -= 1 }
        elements.removeSubrange(range)
    }

    /// Whether one of the elements begins or ends a block.
    func endsBlock(_ range: Range<Int>) -> Bool { elements[range].contains { $0.kind.contains(.special) } }

    /// Returns the elements that a start tag closes; nil if the tag is to be ignored.
    func closed(byStartOf name: HTMLName, _ kind: ElementKind) -> Range<Int>? {
        if name == "form", counts[name, default: 0] > 0 { return nil }
        var start = count
        if let parents = Self.parents(of: name) {
            guard counts["table", default: 0] > 0,
                let parent = elements.lastIndex(where: { parents.contains($0.name) })
            else { return nil }
            start = parent + 1
        }
        if kind.contains(.closesParagraph) { start = index(closedByEndOf: "p", [.closesParagraph, .special]) ?? start }
        if let peers = Self.peers(of: name) {
            let barrier = elements.lastIndex { element in
                peers.contains(element.name)
                    || element.kind.contains(.special) && element.name != "address" && element.name != "div"
                        && element.name != "p"
            }
            if let barrier, peers.contains(elements[barrier].name) { start = min(start, barrier) }
        }
        if start > 0, Self.closes(name, kind, elements[start - 1]) { start -= 1 }
        return (kind.contains(.void) ? start : min(start, Self.maxDepth - 1))..<count
    }

    /// Returns the elements that an end tag closes; nil if the tag is to be ignored.
    func closed(byEndOf name: HTMLName, _ kind: ElementKind) -> Range<Int>? {
        guard let index = index(closedByEndOf: name, kind) else { return nil }
        // The blocks in a formatting element stay open, as in the standard's adoption agency algorithm.
        let leavesContent =
            (kind.contains(.formatting) || name == "form")
            && elements[(index + 1)...].contains { $0.kind.contains(.special) }
        return index..<(leavesContent ? index + 1 : count)
    }

    private func index(closedByEndOf name: HTMLName, _ kind: ElementKind) -> Int? {
        guard counts[name, default: 0] > 0 || kind.contains(.heading) else { return nil }
        for index in elements.indices.reversed() {
            let element = elements[index]
            if element.name == name || kind.contains(.heading) && element.kind.contains(.heading) { return index }
            if kind.contains(.table) ? element.name == "table" : Self.isBoundary(element, for: name, kind) {
                return nil
            }
        }
        return nil
    }

    private static func isBoundary(_ element: Element, for name: HTMLName, _ kind: ElementKind) -> Bool {
        if kind.isDisjoint(with: [.special, .formatting]) { return element.kind.contains(.special) }
        return element.kind.contains(.boundary) || name == "p" && element.name == "button"
            || name == "li" && (element.name == "ul" || element.name == "ol")
    }

    /// The elements that an element may be in directly; nil if it may be in any.
    private static func parents(of name: HTMLName) -> [HTMLName]? {
        switch name {
        case "td", "th": ["tr", "tbody", "tfoot", "thead", "table"]
        case "tr": ["tbody", "tfoot", "thead", "table"]
        case "caption", "colgroup", "tbody", "tfoot", "thead": ["table"]
        default: nil
        }
    }

    /// The items that the start of an item in the same list closes.
    private static func peers(of name: HTMLName) -> [HTMLName]? {
        switch name {
        case "li": ["li"]
        case "dd", "dt": ["dd", "dt"]
        default: nil
        }
    }

    /// Whether a start tag closes an element that is the innermost open one.
    private static func closes(_ name: HTMLName, _ kind: ElementKind, _ element: Element) -> Bool {
        switch name {
        case "option", "optgroup": element.name == "option"
        case "rp", "rt": element.name == "rp" || element.name == "rt"
        default: kind.contains(.heading) && element.kind.contains(.heading)
        }
    }
}
