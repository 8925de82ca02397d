/// How reliable the value of a field is, judged by its source.
public enum Confidence: String, Codable, Sendable, Hashable {
    /// Stated for programs: in JSON-LD, OpenGraph, microdata, `link`, citation tags, or a file's own header.
    case high
    /// Stated less formally: in plain `meta` names, Twitter cards, the document's title, or `time` elements.
    case medium
    /// Inferred from the page's visible text or from its address.
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
