/// The name of an element packed into one number: its letters in lower case if they fit into eight bytes, otherwise a
/// hash.
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

    /// Packs a name that is known at compile time and in lower case. It is inlined so that the optimizer can turn it
    /// into a constant.
    @inline(__always) fileprivate init(known text: StaticString) {
        var value: UInt64 = 0
        for index in 0..<text.utf8CodeUnitCount {
            let byte = UInt64(text.utf8Start[index])
            value = index < 8 ? value << 8 | byte : (value ^ byte) &* 0x100_0000_01B3 | 1 << 63
        }
        packed = value
    }

    static var script: TagName { TagName(known: "script") }
    static var style: TagName { TagName(known: "style") }
    static var noscript: TagName { TagName(known: "noscript") }
    static var iframe: TagName { TagName(known: "iframe") }
    static var textarea: TagName { TagName(known: "textarea") }
    static var noembed: TagName { TagName(known: "noembed") }
    static var noframes: TagName { TagName(known: "noframes") }
    static var xmp: TagName { TagName(known: "xmp") }
    static var plaintext: TagName { TagName(known: "plaintext") }
    static var title: TagName { TagName(known: "title") }
    static var svg: TagName { TagName(known: "svg") }
    static var math: TagName { TagName(known: "math") }
    static var template: TagName { TagName(known: "template") }
    static var select: TagName { TagName(known: "select") }
    static var input: TagName { TagName(known: "input") }
    static var meta: TagName { TagName(known: "meta") }
    static var link: TagName { TagName(known: "link") }
    static var base: TagName { TagName(known: "base") }
    static var html: TagName { TagName(known: "html") }
    static var head: TagName { TagName(known: "head") }
    static var body: TagName { TagName(known: "body") }
    static var h1: TagName { TagName(known: "h1") }
    static var time: TagName { TagName(known: "time") }
    static var a: TagName { TagName(known: "a") }
    static var img: TagName { TagName(known: "img") }
    static var data: TagName { TagName(known: "data") }
    static var aside: TagName { TagName(known: "aside") }
    static var audio: TagName { TagName(known: "audio") }
    static var video: TagName { TagName(known: "video") }
    static var source: TagName { TagName(known: "source") }
    static var p: TagName { TagName(known: "p") }
    static var h2: TagName { TagName(known: "h2") }
    static var h3: TagName { TagName(known: "h3") }
    static var footer: TagName { TagName(known: "footer") }
    static var nav: TagName { TagName(known: "nav") }

    private static let voids = list("meta link img br input hr base area col embed param source track wbr")
    private static let inlines = list("a span b i em strong small time abbr u font sup")
    private static let rawTexts = list("script style noscript iframe textarea noembed noframes xmp title")
    private static let integrationPoints = list("foreignobject desc title annotation-xml mi mo mn ms mtext")
    private static let breakouts = list(
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre "
            + "ruby s small span strong strike sub sup table tt u ul var")

    var isVoid: Bool { Self.voids.contains(self) }
    /// Whether the element is inline, so that it does not end a line of text.
    var isInline: Bool { Self.inlines.contains(self) }
    var isRawText: Bool { Self.rawTexts.contains(self) }
    var isIntegrationPoint: Bool { Self.integrationPoints.contains(self) }
    /// Whether a start tag with this name ends SVG and MathML (HTML standard, 13.2.6.5).
    var isForeignBreakout: Bool { Self.breakouts.contains(self) }

    static func list(_ names: String) -> [TagName] { names.utf8.split(separator: 0x20).map { TagName($0) } }

    static func ~= (pattern: TagName, value: TagName) -> Bool { pattern == value }
}

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
