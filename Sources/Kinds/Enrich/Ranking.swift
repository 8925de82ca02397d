/// Chooses, for each field, the source that publishers get right most often.
struct Ranking {
    private let facts: PageFacts
    private let base: WebURL
    private(set) var sources: [String: String] = [:]

    init(_ facts: PageFacts, at url: WebURL) {
        self.facts = facts
        // A base that cannot be read is as if there were none.
        base = facts.base.flatMap { try? WebURL(parsing: $0, base: url) } ?? url
    }

    typealias Candidate = (source: String, value: String?)

    mutating func first(_ field: String, _ candidates: [Candidate]) -> String? {
        for candidate in candidates {
            guard let value = candidate.value?.tidied, !value.isEmpty else { continue }
            sources[field] = candidate.source
            return value
        }
        return nil
    }

    mutating func firstURL(_ field: String, _ candidates: [Candidate]) -> String? {
        first(field, candidates.map { ($0.source, $0.value.flatMap(absolute)) })
    }

    func absolute(_ text: String) -> String? {
        if text.isEmpty { return nil }
        // A reference that cannot be resolved is the page's mistake; it is left out.
        return try? WebURL(parsing: text, base: base).description
    }

    func meta(_ key: String) -> Candidate { (key, facts.meta(key)) }
}

extension Enrich.Output {
    init(_ facts: PageFacts, url: WebURL, status: Int, contentType: String?, charset: String, body: DecodedBody) {
        var ranking = Ranking(facts, at: url)
        self.url = "\(url)"
        self.status = status
        self.contentType = contentType
        self.charset = charset
        title = ranking.first(
            "title",
            [
                ranking.meta("og:title"), ranking.meta("twitter:title"), ("title", facts.title),
                ("h1", facts.headings.first),
            ])
        description = ranking.first(
            "description",
            [ranking.meta("og:description"), ranking.meta("description"), ranking.meta("twitter:description")])
        canonicalURL = ranking.firstURL(
            "canonical_url", [("link canonical", facts.link("canonical")?.href), ranking.meta("og:url")])
        language = ranking.first(
            "language", [("html lang", facts.language), ranking.meta("content-language"), ranking.meta("og:locale")])?
            .replacing("_", with: "-")
        siteName = ranking.first("site_name", [ranking.meta("og:site_name"), ranking.meta("application-name")])
        type = ranking.first("type", [ranking.meta("og:type")])
        author = ranking.first(
            "author",
            [ranking.meta("author"), ranking.meta("article:author"), ranking.meta("dc.creator"), ranking.meta("byl")])
        published = ranking.first(
            "published",
            [
                ranking.meta("article:published_time"), ranking.meta("datepublished"), ranking.meta("dc.date"),
                ranking.meta("date"),
            ])
        modified = ranking.first(
            "modified",
            [ranking.meta("article:modified_time"), ranking.meta("og:updated_time"), ranking.meta("datemodified")])
        image = ranking.firstURL(
            "image",
            [
                ranking.meta("og:image:secure_url"), ranking.meta("og:image"), ranking.meta("og:image:url"),
                ranking.meta("twitter:image"), ranking.meta("twitter:image:src"),
                ("link image_src", facts.link("image_src")?.href),
            ])
        icon = ranking.firstURL(
            "icon",
            [("link apple-touch-icon", facts.link("apple-touch-icon")?.href), ("link icon", facts.link("icon")?.href)])
        openGraph = [:]
        twitter = [:]
        let groups = ["og:", "article:", "book:", "profile:", "music:", "video:"]
        for meta in facts.metas where !meta.content.isEmpty {
            if groups.contains(where: meta.key.hasPrefix) {
                if openGraph[meta.key, default: []].count < 20 { openGraph[meta.key, default: []].append(meta.content) }
            } else if meta.key.hasPrefix("twitter:"), twitter[meta.key] == nil {
                twitter[meta.key] = meta.content
            }
        }
        sources = ranking.sources
        bytes = body.bytes.count
        isTruncated = body.isTruncated
    }
}
