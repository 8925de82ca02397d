import WebSyntax

extension Ranking {
    mutating func published() -> String? {
        let order = dateOrder
        func isDate(_ moment: PageFacts.Moment) -> Bool { WildDate.iso(moment.text, order: order) != nil }
        // A date above the heading may be the day on which the page was served, so dates after the heading come first.
        let moments =
            (facts.moments.filter(\.isAfterHeading) + facts.moments.filter { !$0.isAfterHeading }).filter(isDate)
        let candidates =
            json("datePublished", "uploadDate") + metas("article:published_time") + micro("datePublished")
            + Self.publishedNames.map { meta($0) } + json("dateCreated") + micro("uploadDate", "dateCreated")
            + [
                ("time published", moments.first { $0.isMarked && $0.signs.contains(.published) }?.text),
                ("time", moments.first { $0.isMarked && !$0.signs.contains(.updated) }?.text),
                ("text published", moments.first { $0.signs.contains(.published) }?.text),
                ("text date", moments.first { !$0.signs.contains(.updated) }?.text),
                ("url", Self.date(in: url) ?? Self.dayNumber(in: url)), ("text", shownDate),
            ]
        if let found = firstDate("published", candidates) {
            // Publishers may change the date when they republish a page. The date in its address does not change.
            if let first = Self.date(in: url).flatMap({ WildDate.iso($0) }), WildDate.days(from: first, to: found) > 7 {
                take("published", first, from: "url", over: found)
                return first
            }
            return found
        }
        // The hAtom microformat says that a page that shows only the date of its last change was published on that
        // date.
        return firstDate("published", [("modified", moments.first { $0.signs.contains(.updated) }?.text)])
    }

    mutating func modified() -> String? {
        let candidates =
            json("dateModified") + metas("article:modified_time", "og:updated_time") + micro("dateModified")
            + metas(
                "datemodified", "last-modified", "dcterms.modified", "dc.date.modified", "revised", "article.updated",
                "lastmod", "utime")
            + [("time updated", facts.moments.first { $0.isMarked && $0.signs.contains(.updated) }?.text)]
        return firstDate("modified", candidates)
    }

    /// A date in the page's visible text without markup: one near the heading, otherwise the only date on the page.
    private var shownDate: String? {
        let lines = facts.shown.lines.filter { !$0.text.has("©") && !$0.text.lowercased().has("copyright") }
        func dates(_ lines: [ShownText.Line]) -> [String] {
            lines.compactMap { WildDate.iso(CharacterReferences.decode($0.text), order: dateOrder) }
        }
        if let near = dates(lines.filter { $0.distance.map { (1...12).contains($0) } ?? false }).first { return near }
        if let above = dates(lines.filter { $0.distance.map { (-4..<0).contains($0) } ?? false }).last { return above }
        let all = dates(lines)
        return Set(all.map { $0.prefix(10) }).count == 1 ? all.first : nil
    }

    private static let publishedNames = [
        "og:article:published_time", "datepublished", "parsely-pub-date", "sailthru.date", "article.published",
        "pubdate", "publishdate", "publish-date", "publish_date", "publication_date", "publication-date",
        "publicationdate", "published-date", "published_time", "date_published", "published", "prism.publicationdate",
        "citation_publication_date", "bepress_citation_date", "citation_date", "citation_online_date",
        "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date.created", "dcterms.date", "dc.date",
        "dc.created", "cxenseparse:recs:publishtime", "rbpubdate", "ptime", "article:published", "og:published_time",
        "og:pubdate", "og:datepublished", "date", "date.release", "article_date_original", "originalpublicationdate",
        "created", "video:release_date", "music:release_date", "book:release_date", "og:release_date",
    ]

    /// Returns a date like `20240203` in the path. The digits may also be some other number.
    private static func dayNumber(in url: WebURL) -> String? {
        url.path.split { !$0.isASCII || !$0.isNumber }.lazy.map(String.init).first {
            $0.utf8.count == 8 && WildDate.iso($0) != nil
        }
    }

    /// Returns a date like `/2024/02/03/` or `2024-02-03-` in the path.
    static func date(in url: WebURL) -> String? {
        let numbers = url.path.split { !$0.isASCII || !$0.isNumber }
        for index in numbers.indices.dropLast(2) where numbers[index].count == 4 {
            let parts = numbers[index...].prefix(3)
            guard let last = parts.last, parts.dropFirst().allSatisfy({ $0.count <= 2 }) else { continue }
            let between = url.path[parts[index].endIndex..<last.startIndex].filter { !$0.isNumber }
            if between == "//" || between == "--" { return parts.joined(separator: "-") }
        }
        return nil
    }

    static func dateOrder(of language: String?) -> WildDate.Order? {
        guard let tag = language.flatMap(languageTag) else { return nil }
        let parts = tag.split(separator: "-")
        if parts.first != "en" { return .dayFirst }
        let region = parts.dropFirst().first { $0.utf8.count == 2 }
        return region == "US" ? .monthFirst : region == nil || region == "CA" ? nil : .dayFirst
    }
}
