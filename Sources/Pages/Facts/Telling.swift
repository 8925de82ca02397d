/// How the reducer treats an element, judged by its name and attributes.
struct Telling {
    /// Whether the element is passed on to the parser.
    private(set) var isKept = false
    /// Whether the element's text is passed on to the parser.
    private(set) var isNoted = false
    /// Whether the element's position in the page is needed: for a heading, and for a link to an author, a tag or a
    /// license.
    private(set) var isPlaced = false
    /// Whether the element's content is not about the page.
    private(set) var isBeside = false
    private(set) var isHeading = false
    /// Whether the element is a heading whose class, id or `itemprop` marks it as the title.
    private(set) var isNamedHeading = false
    private var attributes: [TagName]

    init(_ name: TagName, _ reader: TagReader) {
        switch name {
        case .meta: self.init(keeping: Self.ofMeta)
        case .link: self.init(keeping: Self.ofLink)
        case .base: self.init(keeping: Self.ofBase)
        case .head, .body: self.init(keeping: [])
        default:
            self.init(keeping: Self.ofOthers)
            isKept = name == .aside || name == .audio || name == .video || name == .source
            if name == .time { (isKept, isNoted) = (true, true) }
            isBeside = name == .aside || name == .footer || name == .nav
            isNamedHeading = (name == .h1 || name == .h2 || name == .h3) && Self.isNamedTitle(reader)
            isHeading = name == .h1 || isNamedHeading
            if isHeading { (isKept, isNoted, isPlaced) = (true, true, true) }
            if name == .a, let address = reader.attribute("href"), ClassSigns.isOfAuthor(reader.bytes[address]) {
                (isKept, isNoted, isPlaced) = (true, true, true)
            }
            for attribute in reader.attributes { read(TagName(reader.bytes[attribute.name]), attribute.value, reader) }
            // The value comes from an attribute, so the text is not needed.
            if name == .img || isNoted && name != .a && reader.attribute("content") != nil { isNoted = false }
        }
    }

    private init(keeping attributes: [TagName]) {
        self.attributes = attributes
        isKept = true
    }

    private mutating func read(_ attribute: TagName, _ value: Range<Int>, _ reader: TagReader) {
        switch attribute {
        case Self.itemprop, Self.property:
            isKept = true
            // The body of an article is long, and no field needs it.
            if !reader.equals(value, "articlebody"), !reader.equals(value, "text"), !reader.equals(value, "reviewbody")
            {
                isNoted = true
            }
        case Self.itemscope, Self.typeof: isKept = true
        case Self.rel:
            let text = reader.text(value).lowercased()
            if text.has("author") || text.has("tag") || text.has("license") {
                (isKept, isNoted, isPlaced) = (true, true, true)
            }
        case Self.classes, Self.id:
            var signs = ClassSigns()
            signs.read(UnsafeBufferPointer(rebasing: reader.bytes[value]))
            if !signs.isEmpty { isKept = true }
            if signs.contains(.beside) { isBeside = true }
            if !signs.isDisjoint(with: [.author, .byline, .date]) { isNoted = true }
        default: break
        }
    }

    private static func isNamedTitle(_ reader: TagReader) -> Bool {
        for name in ["class", "id", "itemprop"] as [StaticString] {
            if let value = reader.attribute(name), ClassSigns.isOfTitle(reader.bytes[value]) { return true }
        }
        return false
    }

    func keeps(_ name: Range<Int>, in reader: TagReader) -> Bool { attributes.contains(TagName(reader.bytes[name])) }

    private static var itemprop: TagName { TagName(known: "itemprop") }
    private static var property: TagName { TagName(known: "property") }
    private static var itemscope: TagName { TagName(known: "itemscope") }
    private static var typeof: TagName { TagName(known: "typeof") }
    private static var rel: TagName { TagName(known: "rel") }
    private static var classes: TagName { TagName(known: "class") }
    private static var id: TagName { TagName(known: "id") }
    private static let ofMeta = TagName.list("name property content itemprop http-equiv")
    private static let ofLink = TagName.list("rel href type title sizes hreflang media color itemprop")
    private static let ofBase = TagName.list("href")
    private static let ofOthers = TagName.list(
        "class id itemprop itemscope itemtype property typeof rel content datetime pubdate href src data-src value title"
    )
}
