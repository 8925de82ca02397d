/// How sure a field is, by where it comes from.
public enum Confidence: String, Codable, Sendable, Hashable {
    /// Stated for programs: JSON-LD, OpenGraph, microdata, `link`, citation tags, a file's own header.
    case high
    /// Stated loosely: plain `meta` names, Twitter cards, the document's title, `time` elements.
    case medium
    /// Gathered from what the page shows, or from its address.
    case low

    private static let gathered: Set<String> = [
        "byline", "author link", "url", "h1", "heading", "p", "paragraphs", "text", "modified", "rel tag",
        "copyright",
    ]

    init(source: String) {
        let isStated =
            [
                "json-ld ", "og:", "article:", "microdata ", "citation_", "link ", "dc.", "dcterms.", "video:",
                "music:", "book:",
            ]
            .contains { source.hasPrefix($0) } || source == "html lang" || source == "file"
        let isGathered =
            Self.gathered.contains(source) || source.hasPrefix("text ") || source.hasSuffix(" element")
        self = isStated ? .high : isGathered ? .low : .medium
    }
}
