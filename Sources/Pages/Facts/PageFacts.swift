/// The facts that a page states about itself, unranked and in document order.
struct PageFacts: Sendable {
    struct Meta: Sendable, Hashable {
        /// The value of `name`, `property`, `itemprop` or `http-equiv`, in lower case.
        var key: String
        var content: String
    }

    struct LinkElement: Sendable, Hashable {
        var rel: [String]
        var href: String
        var type: String?
        var title: String?
        var sizes: String?
        var hreflang: String?
        var media: String?
        var color: String?
    }

    /// A date or time that is marked up or looks like one.
    struct Moment: Sendable, Hashable {
        var text: String
        var signs: ClassSigns
        /// Whether markup states the time: a `time` element, or the `title` attribute of a microformat.
        var isMarked: Bool
        var isAfterHeading = false
    }

    /// The text of an element that may name the authors.
    struct Byline: Sendable, Hashable {
        /// The text of each block or line in the element.
        var rows: [String]
        /// How certain the byline is: 0 for `rel=author`, higher for less certain ones, up to 3 for a link near the
        /// heading that leads to an author's page.
        var rank: Int
        /// The element's number, counted from the beginning of the page.
        var number: Int
        var isAfterHeading: Bool
    }

    /// The `src` of an `audio`, `video` or `source`.
    struct Stream: Sendable, Hashable {
        var address: String
        var isVideo: Bool
    }

    var language: String?
    var base: String?
    var title: String?
    var metas: [Meta] = []
    var links: [LinkElement] = []
    /// The texts of `h1` elements.
    var headings: [String] = []
    /// The texts of `h1` to `h3` elements whose class, id or `itemprop` marks them as the title.
    var namedHeadings: [String] = []
    var bylines: [Byline] = []
    var moments: [Moment] = []
    var streams: [Stream] = []
    /// The texts of links with `rel=tag`.
    var tags: [String] = []
    /// Microdata and RDFa Lite, as objects in the form of JSON-LD.
    var items: [JSONValue] = []
    var jsonLD: [[UInt8]] = []
    /// The number of words in paragraphs.
    var words = 0
    var shown = ShownText()

    /// Returns the content of the first of these keys that has a nonempty one.
    func meta(_ keys: String...) -> String? {
        for key in keys {
            if let found = metas.first(where: { $0.key == key && !$0.content.isEmpty }) { return found.content }
        }
        return nil
    }

    func metaAll(_ key: String) -> [String] { metas.filter { $0.key == key && !$0.content.isEmpty }.map(\.content) }

    func link(_ rel: String) -> LinkElement? { links.first { $0.rel.contains(rel) && !$0.href.isEmpty } }
}

/// Hints in the words of an element's class and id.
struct ClassSigns: OptionSet, Sendable, Hashable {
    let rawValue: UInt8
    static let author = ClassSigns(rawValue: 1)
    static let byline = ClassSigns(rawValue: 2)
    static let date = ClassSigns(rawValue: 4)
    static let published = ClassSigns(rawValue: 8)
    static let updated = ClassSigns(rawValue: 16)
    /// The element is not about this page: comments, teasers, navigation.
    static let beside = ClassSigns(rawValue: 32)

    private typealias Word = (text: StaticString, sign: ClassSigns)

    private static let allWords: [Word] = [
        ("author", .author), ("byline", .byline), ("writer", .author), ("autor", .author), ("auteur", .author),
        ("date", .date),
        ("datum", .date), ("time", .date), ("posted", [.date, .published]), ("publish", [.date, .published]),
        ("pub", [.date, .published]), ("submitted", [.byline, .date, .published]), ("entry-date", [.date, .published]),
        ("updated", .updated),
        ("modified", .updated),
        ("comment", .beside), ("related", .beside), ("recommend", .beside), ("sidebar", .beside), ("widget", .beside),
        ("footer", .beside), ("teaser", .beside), ("newsletter", .beside), ("trending", .beside),
        ("popular", .beside), ("reply", .beside), ("replies", .beside),
    ]

    /// Adds the hints in a class or id. A word may begin at the start, after `-`, `_` or a space, or at a capital
    /// letter.
    mutating func read(_ text: UnsafeBufferPointer<UInt8>) {
        var previous: UInt8 = 0x20
        let words = Self.words
        for index in text.indices {
            let byte = text[index]
            let isStart =
                previous == 0x20 || previous == 0x2D || previous == 0x5F
                || (0x41...0x5A).contains(byte) && !(0x41...0x5A).contains(previous)
            if isStart, !words[Int(byte & 31)].isEmpty { read(words[Int(byte & 31)], text, index) }
            previous = byte
        }
    }

    /// Whether a heading's class or id marks it as the title.
    static func isOfTitle(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= 200 else { return false }
        let text = text.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return titles.contains { text.firstIndex(of: $0) != nil }
            && !noTitles.contains { text.firstIndex(of: $0) != nil }
    }

    private static let titles = ["title", "headline", "heading"].map { Array($0.utf8) }
    private static let noTitles = ["widget", "related", "comment", "sidebar", "site-", "section", "sub", "block-"]
        .map { Array($0.utf8) }

    /// Whether an address leads to an author's page, such as `/author/ada`.
    static func isOfAuthor(_ address: UnsafeBufferPointer<UInt8>) -> Bool {
        guard address.count <= 200 else { return false }
        var rest = address[...]
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            rest = rest[(slash + 1)...]
            guard let first = rest.first, first == UInt8(ascii: "a") || first == UInt8(ascii: "b") else { continue }
            if folders.contains(where: { rest.count > $0.count && rest.starts(with: $0) }) { return true }
        }
        return false
    }

    private static let folders = ["author/", "authors/", "autor/", "autoren/", "auteur/", "autore/", "by/"]
        .map { Array($0.utf8) }

    /// The words by the position of their first letter in the alphabet.
    private static let words: [[Word]] = (0..<32).map { letter in
        allWords.filter { $0.text.utf8Start.pointee & 31 == letter }
    }

    private mutating func read(_ words: [Word], _ text: UnsafeBufferPointer<UInt8>, _ start: Int) {
        for (word, sign) in words where text.count - start >= word.utf8CodeUnitCount {
            var offset = 0
            while offset < word.utf8CodeUnitCount, text[start + offset] | 0x20 == word.utf8Start[offset] | 0x20 {
                offset += 1
            }
            if offset == word.utf8CodeUnitCount { formUnion(sign) }
        }
    }
}
