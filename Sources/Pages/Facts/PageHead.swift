import WebSyntax

/// The facts that `unfurl` needs from a page's head.
package struct PageHead: Codable, Sendable {
    package var title: String?
    /// The canonical address as written, which may be relative.
    package var canonical: String?
    /// The content of `meta http-equiv=refresh`.
    package var refresh: String?
    private var baseHref: String?

    package init() {}

    init(_ bytes: [UInt8], contentType: String?) {
        let facts = PageParser.parse(Charset.decode(bytes, contentType: contentType).utf8)
        title = facts.title
        canonical = facts.link("canonical")?.href
        refresh = facts.meta("refresh")
        baseHref = facts.base
    }

    package func base(at url: WebURL) -> WebURL {
        // An invalid base address is ignored.
        baseHref.flatMap { try? WebURL(parsing: $0, base: url) } ?? url
    }

    package static func isPage(_ contentType: String?) -> Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" }.trimmingSpaces.lowercased()
        return type == "text/html" || type == "application/xhtml+xml" || type.isEmpty
    }
}
