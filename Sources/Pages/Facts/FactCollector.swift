import CLibXML2
import Glibc
import WebSyntax

/// Collects facts about a page from the parser's events.
final class FactCollector {
    var facts = PageFacts()

    private enum Capture {
        case title
        case heading(isNamed: Bool)
        case byline(rank: Int, place: Int)
        case moment(ClassSigns, isMarked: Bool)
        case tag
        case property(names: [String], item: Int?)
    }

    private struct Open {
        var name: ElementName
        var isBeside: Bool
        var item: Int?
    }

    private var stack: [Open] = []
    /// The text since the start of the outermost element whose text is being collected.
    private var text: [UInt8] = []
    private var captures: [(depth: Int, start: Int, what: Capture)] = []
    private var microdata = Microdata()
    private var names = ElementNames()
    /// The number of elements that have begun so far.
    private var place = 0
    /// The position of the heading among the page's elements; nil before it.
    private var heading: Int?
    private var isAfterHeading: Bool { heading != nil }

    static func of(_ user: UnsafeMutableRawPointer?) -> FactCollector? {
        user.map { Unmanaged<FactCollector>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Completes the facts. Call this after the parser has finished.
    func finish() { facts.items = microdata.objects() }

    func start(_ rawName: UnsafePointer<xmlChar>?, _ list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) {
        guard let rawName else { return }
        let name = names.name(rawName)
        let attributes = Attributes(list)
        place += 1
        var signs = ClassSigns()
        if let value = attributes.bytes("class") { signs.read(value) }
        if let value = attributes.bytes("id") { signs.read(value) }
        let isBeside =
            stack.last?.isBeside ?? false || name == .aside || signs.contains(.beside) && name != .body && name != .html
        let item = microdataItem(name, attributes)
        stack.append(Open(name: name, isBeside: isBeside, item: item))

        switch name {
        case .base: facts.base = facts.base ?? attributes["href"]
        case .meta: meta(attributes)
        case .link: link(attributes)
        case .title: if facts.title == nil { capture(.title) }
        case .h1, .h2, .h3: heading(name, attributes)
        case .br: append([Self.row])
        case .audio, .video, .source: if !isBeside { stream(name, attributes) }
        case .time: if !isBeside { time(attributes, signs) }
        default:
            if name == .a { anchor(attributes, isBeside: isBeside) }
            if isBeside { break }
            let isByline = signs.contains(.byline) || signs.contains(.author) || isLoneAuthor(attributes)
            if isByline, facts.bylines.count < 30 {
                capture(.byline(rank: signs.contains(.byline) ? 2 : 1, place: place))
            }
            if signs.contains(.date), !isByline || signs.contains(.byline), facts.moments.count < 30 {
                moment(attributes, signs)
            }
        }
    }

    func end(_ rawName: UnsafePointer<xmlChar>?) {
        guard let rawName else { return }
        let name = names.name(rawName)
        guard let index = stack.lastIndex(where: { $0.name == name }) else { return }
        stack.removeSubrange(index...)
        while let last = captures.last, last.depth > stack.count {
            captures.removeLast()
            finish(last.what, rows(of: text[last.start...]))
        }
        if captures.isEmpty { text.removeAll(keepingCapacity: true) } else if name.isBlock { append([Self.row]) }
    }

    func characters(_ characters: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard let characters, !captures.isEmpty else { return }
        append(UnsafeBufferPointer(start: characters, count: Int(count)))
    }

    private func append(_ bytes: some Sequence<UInt8>) {
        guard !captures.isEmpty, text.count < 32 << 10 else { return }
        text.append(contentsOf: bytes)
    }

    private func capture(_ what: Capture) {
        guard captures.count < 24 else { return }
        captures.append((depth: stack.count, start: text.count, what: what))
    }

    /// Separates the texts of different blocks or lines. Page text cannot contain this byte, since the parser rejects
    /// control characters.
    private static let row: UInt8 = 0x1E

    private func rows(of text: ArraySlice<UInt8>) -> [String] {
        text.split(separator: Self.row).map { String(decoding: $0, as: UTF8.self).tidied }.filter { !$0.isEmpty }
    }

    /// Whether the element has `itemprop=author` outside any item.
    private func isLoneAuthor(_ attributes: Attributes) -> Bool {
        guard let property = attributes["itemprop"], !stack.contains(where: { $0.item != nil }) else { return false }
        return property.lowercased().tokens.contains("author")
    }

    private func stream(_ name: ElementName, _ attributes: Attributes) {
        guard facts.streams.count < 20, let source = attributes["src"]?.trimmingSpaces, !source.isEmpty else { return }
        let type = attributes["type"]?.lowercased()
        let isVideo =
            name == .video || name == .source && (type?.hasPrefix("video/") ?? stack.contains { $0.name == .video })
        let isAudio =
            name == .audio || name == .source && (type?.hasPrefix("audio/") ?? stack.contains { $0.name == .audio })
        if isVideo || isAudio { facts.streams.append(PageFacts.Stream(address: source, isVideo: isVideo)) }
    }

    private func finish(_ what: Capture, _ rows: [String]) {
        if rows.isEmpty { return }
        let found = rows.joined(separator: " ")
        switch what {
        case .title: facts.title = facts.title ?? found
        case .heading(let isNamed):
            if isNamed { facts.namedHeadings.append(found) } else { facts.headings.append(found) }
        case .byline(let rank, let place):
            if found.utf8.count < 200 {
                facts.bylines.append(
                    PageFacts.Byline(rows: rows, rank: rank, place: place, isAfterHeading: isAfterHeading))
            }
            // The byline may include a date: `By Ada Lovelace | May 3, 2024`.
            if rank == 2, found.utf8.count < 120, facts.moments.count < 30, found.contains(where: \.isNumber) {
                facts.moments.append(
                    PageFacts.Moment(text: found, signs: .date, isMarked: false, isAfterHeading: isAfterHeading))
            }
        case .moment(let signs, let isMarked):
            if found.utf8.count < 80 {
                facts.moments.append(
                    PageFacts.Moment(text: found, signs: signs, isMarked: isMarked, isAfterHeading: isAfterHeading))
            }
        case .tag: if found.utf8.count < 80 { facts.tags.append(found) }
        case .property(let names, let item): for name in names { microdata.add(name, found, to: item) }
        }
    }

    private func heading(_ name: ElementName, _ attributes: Attributes) {
        let place = Int(attributes["place"] ?? "") ?? place
        if name == .h1 {
            heading = heading ?? place
            if facts.headings.count < 8 { capture(.heading(isNamed: false)) }
        }
        let isNamed = (["class", "id", "itemprop"] as [StaticString]).contains {
            attributes.bytes($0).map { ClassSigns.isOfTitle($0[...]) } ?? false
        }
        guard isNamed, stack.last?.isBeside == false, facts.namedHeadings.count < 8 else { return }
        if facts.namedHeadings.isEmpty { heading = place }
        capture(.heading(isNamed: true))
    }

    private func meta(_ attributes: Attributes) {
        guard facts.metas.count < 2000, let content = attributes["content"]?.tidied else { return }
        for source in ["property", "name", "itemprop", "http-equiv"] as [StaticString] {
            guard let keys = attributes[source] else { continue }
            for key in keys.lowercased().tokens.prefix(4) {
                // Pages use `DC:date` as often as `DC.date`.
                let isDublinCore = key.hasPrefix("dc:") || key.hasPrefix("dcterms:")
                facts.metas.append(
                    PageFacts.Meta(
                        key: isDublinCore ? key.replacing(":", with: ".") : key, content: content))
            }
        }
    }

    private func link(_ attributes: Attributes) {
        guard facts.links.count < 1000, let href = attributes["href"]?.trimmingSpaces, let rel = attributes["rel"]
        else { return }
        facts.links.append(
            PageFacts.LinkElement(
                rel: rel.lowercased().tokens, href: href,
                type: attributes["type"]?.lowercased().cut(to: 100), title: attributes["title"]?.tidied.cut(to: 500),
                sizes: attributes["sizes"]?.lowercased().cut(to: 100),
                hreflang: attributes["hreflang"], media: attributes["media"], color: attributes["color"]))
    }

    private func anchor(_ attributes: Attributes, isBeside: Bool) {
        let rel = (attributes["rel"] ?? "").lowercased().tokens
        if !isBeside, facts.bylines.count < 30 {
            let isToAuthor = attributes.bytes("href").map { ClassSigns.isOfAuthor($0[...]) } ?? false
            let place = Int(attributes["place"] ?? "") ?? place
            if rel.contains("author") {
                capture(.byline(rank: 0, place: place))
            } else if isToAuthor, let heading, (0...60).contains(place - heading) {
                capture(.byline(rank: 3, place: place))
            }
        }
        if rel.contains("tag"), facts.tags.count < 50 { capture(.tag) }
        if rel.contains("license"), let href = attributes["href"]?.trimmingSpaces, facts.links.count < 1000 {
            facts.links.append(PageFacts.LinkElement(rel: ["license"], href: href))
        }
    }

    private func time(_ attributes: Attributes, _ signs: ClassSigns) {
        guard facts.moments.count < 60 else { return }
        var signs = signs
        if attributes.raw("pubdate") != nil { signs.insert(.published) }
        if let value = attributes["datetime"]?.tidied, !value.isEmpty {
            facts.moments.append(
                PageFacts.Moment(text: value, signs: signs, isMarked: true, isAfterHeading: isAfterHeading))
        } else {
            capture(.moment(signs, isMarked: true))
        }
    }

    /// Notes the date in an element whose class announces one. Microformats put the exact time into `title`.
    private func moment(_ attributes: Attributes, _ signs: ClassSigns) {
        if let title = attributes["title"]?.tidied, WildDate.iso(title) != nil {
            facts.moments.append(
                PageFacts.Moment(text: title, signs: signs, isMarked: true, isAfterHeading: isAfterHeading))
        } else {
            capture(.moment(signs, isMarked: false))
        }
    }

    /// Notes an item or a property. Returns the item that begins with this element, or nil.
    private func microdataItem(_ name: ElementName, _ attributes: Attributes) -> Int? {
        let property = attributes["itemprop"] ?? attributes["property"].flatMap { $0.contains(":") ? nil : $0 }
        let isItem = attributes.raw("itemscope") != nil || attributes.raw("typeof") != nil
        guard property != nil || isItem else { return nil }
        let owner = stack.last { $0.item != nil }?.item
        let names = Array((property?.tokens ?? []).prefix(4))
        if isItem {
            return microdata.begin(type: attributes["itemtype"] ?? attributes["typeof"], as: names, in: owner)
        }
        // Properties outside any item are ignored. Those of `meta` elements are in ``PageFacts/metas``.
        guard owner != nil else { return nil }
        if let value = attributes.value(of: name) {
            for property in names { microdata.add(property, value, to: owner) }
        } else {
            captures.append((depth: stack.count + 1, start: text.count, what: .property(names: names, item: owner)))
            if captures.count > 24 { captures.removeLast() }
        }
        return nil
    }
}

/// The attributes that the parser passes to a callback; valid only during that call.
struct Attributes {
    private let list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?

    init(_ list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) { self.list = list }

    /// Returns an attribute's value, which is empty if the attribute has none; nil if there is no such attribute.
    func raw(_ name: StaticString) -> UnsafePointer<xmlChar>? {
        guard let list else { return nil }
        var index = 0
        while let found = list[index] {
            if strcmp(
                UnsafeRawPointer(found).assumingMemoryBound(to: CChar.self),
                UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
            {
                return list[index + 1] ?? Self.empty
            }
            index += 2
        }
        return nil
    }

    private static var empty: UnsafePointer<xmlChar> { ("" as StaticString).utf8Start }

    func bytes(_ name: StaticString) -> UnsafeBufferPointer<UInt8>? {
        raw(name).map {
            UnsafeBufferPointer(start: $0, count: strlen(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)))
        }
    }

    subscript(name: StaticString) -> String? { raw(name).map { String(cString: $0) } }

    /// Returns the value of a property on an element with this name (HTML standard, 5.2.4); nil if the value is the
    /// element's text.
    func value(of name: ElementName) -> String? {
        if let content = self["content"] { return content.tidied }
        switch name {
        case .a, .link: return self["href"]?.trimmingSpaces
        case .img: return (self["src"] ?? self["data-src"])?.trimmingSpaces
        case .time: return self["datetime"]?.tidied
        case .data: return self["value"]?.tidied
        default: return nil
        }
    }
}
