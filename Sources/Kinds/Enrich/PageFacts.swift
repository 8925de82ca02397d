/// What a page says about itself, as found, in the order of the document.
struct PageFacts: Sendable {
    struct Meta: Sendable, Hashable {
        /// `name`, `property`, `itemprop` or `http-equiv`, in lower case.
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

    var language: String?
    var base: String?
    var title: String?
    var metas: [Meta] = []
    var links: [LinkElement] = []
    /// Texts of `h1`.
    var headings: [String] = []
    var jsonLD: [[UInt8]] = []

    /// The first content of the first of these keys that has one that is not empty.
    func meta(_ keys: String...) -> String? {
        for key in keys {
            if let found = metas.first(where: { $0.key == key && !$0.content.isEmpty }) { return found.content }
        }
        return nil
    }

    func metaAll(_ key: String) -> [String] { metas.filter { $0.key == key && !$0.content.isEmpty }.map(\.content) }

    func link(_ rel: String) -> LinkElement? { links.first { $0.rel.contains(rel) && !$0.href.isEmpty } }
}
