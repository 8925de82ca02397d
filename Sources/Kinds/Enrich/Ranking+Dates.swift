extension Ranking {
    mutating func published() -> String? {
        let moments = facts.moments
        let candidates =
            json("datePublished", "uploadDate") + metas("article:published_time") + micro("datePublished")
            + metas(
                "og:article:published_time", "datepublished", "parsely-pub-date", "sailthru.date", "article.published",
                "pubdate", "publishdate",
                "publish-date", "publish_date", "publication_date", "published-date", "published_time",
                "citation_publication_date",
                "citation_date", "citation_online_date", "dc.date.issued", "dcterms.issued", "dcterms.created",
                "dc.date.created", "dcterms.date",
                "dc.date", "dc.created", "cxenseparse:recs:publishtime", "rbpubdate", "ptime", "article:published",
                "og:pubdate", "date",
                "video:release_date", "music:release_date", "book:release_date", "og:release_date")
            + json("dateCreated") + [
                ("time published", moments.first { $0.isMarked && $0.signs.contains(.published) }?.text),
                (
                    "time",
                    moments.first { $0.isMarked && !$0.signs.contains(.updated) && WildDate.iso($0.text) != nil }?.text
                ),
                (
                    "text published",
                    moments.first { $0.signs.contains(.published) && WildDate.iso($0.text) != nil }?.text
                ),
                ("text date", moments.first { !$0.signs.contains(.updated) && WildDate.iso($0.text) != nil }?.text),
                ("url", Self.date(in: url)),
            ]
        let found = firstDate("published", candidates)
        // Publishers renew the date of what they publish again; its address keeps the first one.
        if let found, let first = Self.date(in: url).flatMap(WildDate.iso), WildDate.days(from: first, to: found) > 7 {
            take("published", first, from: "url", over: found)
            return first
        }
        return found
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

    /// `/2024/02/03/` and `2024-02-03-` in the path.
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
}
