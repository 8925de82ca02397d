import WebSyntax

/// Collects facts about a page from its tags and text.
struct FactCollector {
    /// The facts about an element's content that follow from the elements around it.
    struct Context {
        /// Whether the content is not about the page.
        var isBeside = false
        /// Whether the content is outside the page's own text: `isBeside`, or in a footer or navigation.
        var isOutsideText = false
        var isInParagraph = false
        /// The microdata item to which properties belong.
        var item: Int?
        /// `audio` or `video`, to which `source` elements belong.
        var medium: HTMLName?
    }

    private(set) var facts = PageFacts()

    private enum Capture {
        case heading(isNamed: Bool)
        case byline(rank: Int, number: Int)
        case moment(ClassSigns, isMarked: Bool)
        case tag
        case property(names: [String], item: Int)
    }

    /// The text since the start of the outermost element whose text is being collected.
    private var text: [UInt8] = []
    /// The elements whose text is being collected, with the number of elements around each, and the start of its text.
    private var captures: [(depth: Int, start: Int, what: Capture)] = []
    private var microdata = Microdata()
    /// The heading's number among the page's elements; nil before it.
    private var heading: Int?
    private var isAfterHeading: Bool { heading != nil }

    /// Completes the facts. Call this at the end of the page.
    mutating func finish() {
        facts.items = microdata.objects()
        facts.shown.finish()
    }

    /// Ends a line of the visible text.
    mutating func endLine(in context: Context) {
        facts.shown.endLine(isInParagraph: context.isInParagraph, isBeside: context.isOutsideText)
    }

    mutating func text(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, in context: Context) {
        if context.isInParagraph { countWords(bytes) }
        facts.shown.append(bytes, isInParagraph: context.isInParagraph)
        if !captures.isEmpty {
            CharacterReferences.decode(bytes.prefix(max(0, Self.maxText - text.count)), into: &text)
        }
    }

    private mutating func countWords(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
        var isInWord = false
        for byte in text {
            if !byte.isSpace, !isInWord { facts.words += 1 }
            isInWord = !byte.isSpace
        }
    }

    /// Notes the text of the title or of a script with linked data.
    mutating func rawText(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, of name: HTMLName, _ tag: TagReader) {
        switch name {
        case "title" where facts.title == nil:
            let title = CharacterReferences.decode(String(decoding: bytes.prefix(Self.maxText), as: UTF8.self)).tidied
            if !title.isEmpty { facts.title = title }
        case "script":
            let isLinkedData = tag["type"]?.trimmingSpaces.lowercased().hasPrefix("application/ld+json") ?? false
            if isLinkedData, facts.jsonLD.count < 64, bytes.count <= 512 << 10 { facts.jsonLD.append(Array(bytes)) }
        default: break
        }
    }

    /// Notes the language in an `html` tag. The standard adds the attributes of later `html` tags to the element.
    mutating func html(_ tag: TagReader) {
        let language = (tag["lang"] ?? tag["xml:lang"])?.trimmingSpaces ?? ""
        if facts.language == nil, !language.isEmpty { facts.language = language }
    }

    /// Notes the facts in a start tag.
    ///
    /// - Parameters:
    ///   - number: The element's number, counted from the beginning of the page.
    ///   - depth: The number of elements around it.
    /// - Returns: The context of the element's content.
    mutating func start(
        _ name: HTMLName, _ tag: TagReader, number: Int, depth: Int, in parent: Context
    ) -> Context {
        var signs = ClassSigns()
        if let value = tag.bytes(of: "class") { signs.read(value) }
        if let value = tag.bytes(of: "id") { signs.read(value) }
        var context = parent
        if name == "aside" || signs.contains(.beside) { (context.isBeside, context.isOutsideText) = (true, true) }
        if name == "footer" || name == "nav" { context.isOutsideText = true }
        if name == "p" { context.isInParagraph = true }
        if let item = microdataItem(name, tag, depth: depth, in: parent.item) { context.item = item }

        switch name {
        case "base": facts.base = facts.base ?? tag["href"]
        case "meta": meta(tag)
        case "link": link(tag)
        case "h1", "h2", "h3": heading(name, tag, number: number, depth: depth, context, isShown: !parent.isOutsideText)
        case "br": append([Self.row])
        case "audio", "video":
            context.medium = name
            stream(tag, in: context)
        case "source": stream(tag, in: context)
        case "time": if !context.isBeside { time(tag, signs, depth: depth) }
        default:
            if name == "a" { anchor(tag, number: number, depth: depth, isBeside: context.isBeside) }
            if context.isBeside { break }
            // An `itemprop=author` outside any item also names an author.
            let isLoneAuthor =
                context.item == nil && tag["itemprop"]?.lowercased().tokens.contains("author") ?? false
            let isByline = isLoneAuthor || !signs.isDisjoint(with: [.byline, .author])
            if isByline, facts.bylines.count < 30 {
                capture(.byline(rank: signs.contains(.byline) ? 2 : 1, number: number), depth)
            }
            if signs.contains(.date), !isByline || signs.contains(.byline), facts.moments.count < 30 {
                moment(tag, signs, depth: depth)
            }
        }
        return context
    }

    /// Completes the texts of elements that end, given by the number of elements around each.
    ///
    /// - Parameter endsRow: Whether a block ends, so that the following text is in another row.
    mutating func end(_ depths: Range<Int>, endsRow: Bool) {
        // An inner element ends before the one around it.
        for index in captures.indices.reversed() where captures[index].depth >= depths.lowerBound {
            let capture = captures[index]
            if depths.contains(capture.depth) {
                captures.remove(at: index)
                finish(capture.what, rows(of: text[capture.start...]))
            } else {
                captures[index].depth -= depths.count
            }
        }
        if captures.isEmpty { text.removeAll(keepingCapacity: true) } else if endsRow { append([Self.row]) }
    }

    /// The maximum number of bytes of text to collect.
    private static let maxText = 32 << 10

    private mutating func append(_ bytes: [UInt8]) {
        if !captures.isEmpty, text.count < Self.maxText { text += bytes }
    }

    private mutating func capture(_ what: Capture, _ depth: Int) {
        guard captures.count < 24 else { return }
        captures.append((depth: depth, start: text.count, what: what))
    }

    /// Separates the texts of different blocks or lines.
    private static let row: UInt8 = 0x1E

    private func rows(of text: ArraySlice<UInt8>) -> [String] {
        text.split(separator: Self.row).map { String(decoding: $0, as: UTF8.self).tidied }.filter { !$0.isEmpty }
    }

    private mutating func stream(_ tag: TagReader, in context: Context) {
        guard let medium = context.medium, !context.isBeside, facts.streams.count < 20,
            let source = tag["src"]?.trimmingSpaces, !source.isEmpty
        else { return }
        facts.streams.append(PageFacts.Stream(address: source, isVideo: medium == "video"))
    }

    private mutating func finish(_ what: Capture, _ rows: [String]) {
        if rows.isEmpty { return }
        let found = rows.joined(separator: " ")
        switch what {
        case .heading(let isNamed):
            if isNamed { facts.namedHeadings.append(found) } else { facts.headings.append(found) }
        case .byline(let rank, let number):
            if found.utf8.count < 200 {
                facts.bylines.append(
                    PageFacts.Byline(rows: rows, rank: rank, number: number, isAfterHeading: isAfterHeading))
            }
            // The byline may include a date: `By Ada Lovelace | May 3, 2024`.
            if rank == 2, found.utf8.count < 120, facts.moments.count < 30, found.contains(where: \.isNumber) {
                addMoment(found, .date, isMarked: false)
            }
        case .moment(let signs, let isMarked):
            if found.utf8.count < 80 { addMoment(found, signs, isMarked: isMarked) }
        case .tag: if found.utf8.count < 80 { facts.tags.append(found) }
        case .property(let names, let item): for name in names { microdata.add(name, found, to: item) }
        }
    }

    private mutating func heading(
        _ name: HTMLName, _ tag: TagReader, number: Int, depth: Int, _ context: Context, isShown: Bool
    ) {
        let isNamed = (["class", "id", "itemprop"] as [HTMLName]).contains { attribute in
            tag.bytes(of: attribute).map(ClassSigns.isOfTitle) ?? false
        }
        if isShown, name == "h1" || isNamed { facts.shown.beginHeading(isNamed: isNamed) }
        if name == "h1" {
            heading = heading ?? number
            if facts.headings.count < 8 { capture(.heading(isNamed: false), depth) }
        }
        guard isNamed, !context.isBeside, facts.namedHeadings.count < 8 else { return }
        if facts.namedHeadings.isEmpty { heading = number }
        capture(.heading(isNamed: true), depth)
    }

    private mutating func meta(_ tag: TagReader) {
        guard facts.metas.count < 2000, let content = tag["content"]?.tidied else { return }
        for source in ["property", "name", "itemprop", "http-equiv"] as [HTMLName] {
            guard let keys = tag[source] else { continue }
            for key in keys.lowercased().tokens.prefix(4) {
                // Pages use `DC:date` as often as `DC.date`.
                let isDublinCore = key.hasPrefix("dc:") || key.hasPrefix("dcterms:")
                facts.metas.append(
                    PageFacts.Meta(
                        key: isDublinCore ? key.replacing(":", with: ".") : key, content: content))
            }
        }
    }

    private mutating func link(_ tag: TagReader) {
        guard facts.links.count < 1000, let href = tag["href"]?.trimmingSpaces, let rel = tag["rel"]
        else { return }
        facts.links.append(
            PageFacts.LinkElement(
                rel: rel.lowercased().tokens, href: href,
                type: tag["type"]?.lowercased().cut(to: 100), title: tag["title"]?.tidied.cut(to: 500),
                sizes: tag["sizes"]?.lowercased().cut(to: 100),
                hreflang: tag["hreflang"], media: tag["media"], color: tag["color"]))
    }

    private mutating func anchor(_ tag: TagReader, number: Int, depth: Int, isBeside: Bool) {
        let rel = (tag["rel"] ?? "").lowercased().tokens
        if !isBeside, facts.bylines.count < 30 {
            if rel.contains("author") {
                capture(.byline(rank: 0, number: number), depth)
            } else if let heading, (0...60).contains(number - heading),
                tag.bytes(of: "href").map(ClassSigns.isOfAuthor) ?? false
            {
                capture(.byline(rank: 3, number: number), depth)
            }
        }
        if rel.contains("tag"), facts.tags.count < 50 { capture(.tag, depth) }
        if rel.contains("license"), let href = tag["href"]?.trimmingSpaces, facts.links.count < 1000 {
            facts.links.append(PageFacts.LinkElement(rel: ["license"], href: href))
        }
    }

    private mutating func time(_ tag: TagReader, _ signs: ClassSigns, depth: Int) {
        guard facts.moments.count < 60 else { return }
        var signs = signs
        if tag.has("pubdate") { signs.insert(.published) }
        if let value = tag["datetime"]?.tidied, !value.isEmpty {
            addMoment(value, signs, isMarked: true)
        } else {
            capture(.moment(signs, isMarked: true), depth)
        }
    }

    /// Notes the date in an element whose class announces one. Microformats put the exact time into `title`.
    private mutating func moment(_ tag: TagReader, _ signs: ClassSigns, depth: Int) {
        if let title = tag["title"]?.tidied, WildDate.iso(title) != nil {
            addMoment(title, signs, isMarked: true)
        } else {
            capture(.moment(signs, isMarked: false), depth)
        }
    }

    private mutating func addMoment(_ text: String, _ signs: ClassSigns, isMarked: Bool) {
        facts.moments.append(
            PageFacts.Moment(text: text, signs: signs, isMarked: isMarked, isAfterHeading: isAfterHeading))
    }

    /// Notes an item or a property. Returns the item that begins with this element, or nil.
    private mutating func microdataItem(_ name: HTMLName, _ tag: TagReader, depth: Int, in owner: Int?) -> Int? {
        let property = tag["itemprop"] ?? tag["property"].flatMap { $0.contains(":") ? nil : $0 }
        let isItem = tag.has("itemscope") || tag.has("typeof")
        guard property != nil || isItem else { return nil }
        let names = Array((property?.tokens ?? []).prefix(4))
        if isItem { return microdata.begin(type: tag["itemtype"] ?? tag["typeof"], as: names, in: owner) }
        // Properties outside any item are ignored. Those of `meta` elements are in ``PageFacts/metas``.
        guard let owner else { return nil }
        if let value = Self.value(of: name, tag) {
            for property in names { microdata.add(property, value, to: owner) }
        } else {
            // The body of an article is long, and no field needs it.
            let short = names.filter { !["articlebody", "reviewbody", "text"].contains($0.lowercased()) }
            if !short.isEmpty { capture(.property(names: short, item: owner), depth) }
        }
        return nil
    }

    /// Returns the value of a property (HTML standard, 5.2.4); nil if the value is the element's text.
    private static func value(of name: HTMLName, _ tag: TagReader) -> String? {
        if let content = tag["content"] { return content.tidied }
        return switch name {
        case "a", "link": tag["href"]?.trimmingSpaces
        case "img": (tag["src"] ?? tag["data-src"])?.trimmingSpaces
        case "time": tag["datetime"]?.tidied
        case "data": tag["value"]?.tidied
        default: nil
        }
    }
}
