/// The name of an element as a number. The names that matter here have fixed numbers. Every other name on a page gets a
/// number of its own, so that end tags can be matched with start tags.
struct ElementName: Hashable, Sendable {
    fileprivate let number: Int

    static let html = known("html")
    static let body = known("body")
    static let base = known("base")
    static let meta = known("meta")
    static let link = known("link")
    static let title = known("title")
    static let h1 = known("h1")
    static let h2 = known("h2")
    static let h3 = known("h3")
    static let br = known("br")
    static let time = known("time")
    static let a = known("a")
    static let img = known("img")
    static let data = known("data")
    static let aside = known("aside")
    static let audio = known("audio")
    static let video = known("video")
    static let source = known("source")

    var isBlock: Bool { number >= Self.firstBlock && number < Self.list.count }

    fileprivate static let list = [
        "html", "body", "base", "meta", "link", "title", "h1", "br", "time", "a", "img", "data", "aside", "audio",
        "video", "source", "p", "div",
        "li", "ul", "ol",
        "section", "article", "header", "h2", "h3", "h4", "td", "th", "tr", "dt", "dd", "figcaption", "address",
        "footer",
    ]
    private static let firstBlock = 15

    private static func known(_ name: String) -> ElementName { ElementName(number: list.firstIndex(of: name) ?? 0) }
}

/// Translates the parser's names. The parser stores each name of a page only once, so the pointer is enough to
/// recognize a name.
struct ElementNames {
    private var known: [UnsafePointer<UInt8>: ElementName] = [:]
    private var byText: [String: ElementName] = [:]

    mutating func name(_ text: UnsafePointer<UInt8>) -> ElementName {
        if let name = known[text] { return name }
        let string = String(cString: text)
        let name =
            byText[string]
            ?? ElementName(number: ElementName.list.firstIndex(of: string) ?? ElementName.list.count + byText.count)
        byText[string] = name
        known[text] = name
        return name
    }
}
