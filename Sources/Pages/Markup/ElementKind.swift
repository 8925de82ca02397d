/// The rules that an element follows by its name (HTML standard, 13.1.2, 13.2.4.2 and 13.2.6).
struct ElementKind: OptionSet, Sendable {
    let rawValue: UInt16

    /// The element has no content and no end tag.
    static let void = ElementKind(rawValue: 1)
    /// Nothing in the element is a tag.
    static let rawText = ElementKind(rawValue: 2)
    /// The element does not end a line of text.
    static let inline = ElementKind(rawValue: 4)
    static let formatting = ElementKind(rawValue: 8)
    static let heading = ElementKind(rawValue: 16)
    /// The element's start tag closes an open paragraph.
    static let closesParagraph = ElementKind(rawValue: 32)
    /// The end tag of an ordinary element around this element does not close it.
    static let special = ElementKind(rawValue: 64)
    /// End tags in this element do not close elements outside.
    static let boundary = ElementKind(rawValue: 128)
    /// The element is a table or a part of one.
    static let table = ElementKind(rawValue: 256)
    /// The element's start tag ends SVG and MathML.
    static let endsForeign = ElementKind(rawValue: 512)
    /// The element is in SVG or MathML and contains HTML.
    static let integrationPoint = ElementKind(rawValue: 1024)

    private static let lists: [(ElementKind, String)] = [
        (
            .void,
            "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
        ),
        (.rawText, "iframe noembed noframes noscript plaintext script style textarea title xmp"),
        (.inline, "a abbr b em font i small span strong sup time u"),
        (.formatting, "a b big code em font i nobr s small strike strong tt u"),
        (.heading, "h1 h2 h3 h4 h5 h6"),
        (
            [.closesParagraph, .special],
            "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form "
                + "h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p pre search section summary table ul"
        ),
        (.special, "button"),
        ([.special, .boundary], "applet marquee object"),
        ([.special, .boundary, .table], "caption table td th"),
        ([.special, .table], "colgroup tbody tfoot thead tr"),
        (
            .endsForeign,
            "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
                + "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
        ),
        (.integrationPoint, "foreignobject desc title annotation-xml mi mo mn ms mtext"),
    ]

    private static let kinds: [HTMLName: ElementKind] = {
        var kinds: [HTMLName: ElementKind] = [:]
        for (kind, names) in lists {
            for name in names.utf8.split(separator: 0x20) { kinds[HTMLName(name), default: []].formUnion(kind) }
        }
        return kinds
    }()

    init(rawValue: UInt16) { self.rawValue = rawValue }

    init(of name: HTMLName) { self = Self.kinds[name] ?? [] }
}
