/// The name of an element in one number: its letters in lower case where they fit, else their hash.
struct TagName: Hashable, Sendable {
    private let packed: UInt64

    init(_ bytes: some Sequence<UInt8>) {
        var value: UInt64 = 0
        var count = 0
        for byte in bytes {
            let lower = UInt64((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            value = count < 8 ? value << 8 | lower : (value ^ lower) &* 0x100_0000_01B3 | 1 << 63
            count += 1
        }
        packed = value
    }

    private init(_ text: StaticString) {
        self.init(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    static let script = TagName("script")
    static let style = TagName("style")
    static let noscript = TagName("noscript")
    static let iframe = TagName("iframe")
    static let textarea = TagName("textarea")
    static let noembed = TagName("noembed")
    static let noframes = TagName("noframes")
    static let xmp = TagName("xmp")
    static let plaintext = TagName("plaintext")
    static let title = TagName("title")
    static let svg = TagName("svg")
    static let math = TagName("math")
    static let template = TagName("template")
    static let select = TagName("select")
    static let input = TagName("input")
    static let meta = TagName("meta")
    static let link = TagName("link")
    static let base = TagName("base")
    static let html = TagName("html")
    static let head = TagName("head")
    static let body = TagName("body")
    static let h1 = TagName("h1")
    static let time = TagName("time")
    static let a = TagName("a")
    static let img = TagName("img")
    static let data = TagName("data")
    static let aside = TagName("aside")
    static let audio = TagName("audio")
    static let video = TagName("video")
    static let source = TagName("source")
    static let p = TagName("p")
    static let h2 = TagName("h2")
    static let h3 = TagName("h3")
    static let footer = TagName("footer")
    static let nav = TagName("nav")

    private static let voids = set("meta link img br input hr base area col embed param source track wbr")
    private static let inlines = ["a", "span", "b", "i", "em", "strong", "small", "time", "abbr", "u", "font", "sup"]
        .map { TagName($0.utf8) }
    private static let rawTexts = set("script style noscript iframe textarea noembed noframes xmp title")
    private static let integrationPoints = set("foreignobject desc title annotation-xml mi mo mn ms mtext")
    private static let breakouts = set(
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre "
            + "ruby s small span strong strike sub sup table tt u ul var")

    var isVoid: Bool { Self.voids.contains(self) }
    /// Whether it stands within a line of text.
    var isInline: Bool { Self.inlines.contains(self) }
    var isRawText: Bool { Self.rawTexts.contains(self) }
    var isIntegrationPoint: Bool { Self.integrationPoints.contains(self) }
    /// Start tags that end SVG and MathML (HTML standard, 13.2.6.5).
    var isForeignBreakout: Bool { Self.breakouts.contains(self) }

    static func set(_ names: String) -> Set<TagName> { Set(names.utf8.split(separator: 0x20).map { TagName($0) }) }

    static func ~= (pattern: TagName, value: TagName) -> Bool { pattern == value }
}

/// What an element's name and attributes promise.
struct Telling {
    /// Whether the element is passed on.
    private(set) var isKept = false
    /// Whether its text is.
    private(set) var isNoted = false
    /// Whether its place in the page is of interest: a heading, or a link of an author, a tag or a licence.
    private(set) var isPlaced = false
    /// Whether what it holds is not about the page.
    private(set) var isBeside = false
    private(set) var isHeading = false
    /// Whether a heading's class says that it is the title.
    private(set) var isNamedHeading = false
    private var attributes: Set<TagName>

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
            // The element's own value is taken from an attribute.
            if name == .img || isNoted && name != .a && reader.attribute("content") != nil { isNoted = false }
        }
    }

    private init(keeping attributes: Set<TagName>) {
        self.attributes = attributes
        isKept = true
    }

    private mutating func read(_ attribute: TagName, _ value: Range<Int>, _ reader: TagReader) {
        switch attribute {
        case Self.itemprop, Self.property:
            isKept = true
            // The body of an article is long, and nobody asks for it here.
            if !reader.equals(value, "articlebody"), !reader.equals(value, "text"), !reader.equals(value, "reviewbody")
            {
                isNoted = true
            }
        case Self.itemscope, Self.typeof: isKept = true
        case Self.rel:
            let text = reader.text(value).lowercased()
            if text.contains("author") || text.contains("tag") || text.contains("license") {
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

    private static let itemprop = TagName("itemprop".utf8)
    private static let property = TagName("property".utf8)
    private static let itemscope = TagName("itemscope".utf8)
    private static let typeof = TagName("typeof".utf8)
    private static let rel = TagName("rel".utf8)
    private static let classes = TagName("class".utf8)
    private static let id = TagName("id".utf8)
    private static let ofMeta = TagName.set("name property content itemprop http-equiv")
    private static let ofLink = TagName.set("rel href type title sizes hreflang media color itemprop")
    private static let ofBase = TagName.set("href")
    private static let ofOthers = TagName.set(
        "class id itemprop itemscope itemtype property typeof rel content datetime pubdate href src data-src value title"
    )
}
