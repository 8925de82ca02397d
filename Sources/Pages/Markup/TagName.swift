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
    @inline(__always) init(known text: StaticString) {
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
