extension Ranking {
    /// People, or whoever stands in their place.
    mutating func authors() -> [String]? {
        var found: [(source: String, names: [String])] = [
            ("json-ld author", linked.names(subject, "author")), ("json-ld creator", linked.names(subject, "creator")),
            ("microdata author", items.names(item, "author")), ("citation_author", facts.metaAll("citation_author")),
            ("parsely-author", facts.metaAll("parsely-author")), ("sailthru.author", facts.metaAll("sailthru.author")),
            ("author", facts.metaAll("author")), ("article:author", facts.metaAll("article:author")),
            ("dc.creator", facts.metaAll("dc.creator")), ("dcterms.creator", facts.metaAll("dcterms.creator")),
            ("byl", facts.metaAll("byl")), ("article:author_name", facts.metaAll("article:author_name")),
            ("rbauthors", facts.metaAll("rbauthors")),
        ]
        if facts.meta("twitter:label1")?.lowercased().hasPrefix("written by") == true {
            found.append(("twitter:data1", facts.metaAll("twitter:data1")))
        }
        let bylines = facts.bylines.sorted { $0.rank < $1.rank }
        if let index = bylines.firstIndex(where: { Self.line(of: $0) != nil }) {
            // Several links of the same kind are several authors, when they follow each other.
            var lines: [String] = []
            var place = bylines[index].place
            for byline in bylines[index...] where byline.rank == bylines[index].rank {
                guard let line = Self.line(of: byline), lines.isEmpty || byline.rank == 0 && byline.place - place <= 4
                else { break }
                lines.append(line)
                place = byline.place
            }
            found.append(("byline", lines))
        }
        let site = siteNames.lazy.compactMap { $0.value?.tidied.lowercased() }.first { !$0.isEmpty }
        var chosen: [String]?
        var fallback: (String, [String])?
        for (source, values) in found {
            var names: [String] = []
            for name in values.flatMap(Self.people)
            where !names.contains(where: { $0.lowercased() == name.lowercased() }) { names.append(name) }
            if names.isEmpty { continue }
            if let chosen {
                if Set(names) != Set(chosen) { disagree("author", names.joined(separator: ", "), from: source) }
                continue
            }
            // The site as its own author says little; a person named elsewhere says more.
            if names.allSatisfy({ $0.lowercased() == site || Self.looksLike($0, host: hostLabel) }) {
                fallback = fallback ?? (source, names)
                continue
            }
            // A name of an account is taken only when there is no other.
            let people = names.filter { !$0.hasPrefix("@") }
            if people.isEmpty {
                fallback = fallback ?? (source, names)
                continue
            }
            note("author", from: source)
            chosen = Array(people.prefix(20))
        }
        if let chosen { return chosen }
        guard let fallback else { return nil }
        note("author", from: fallback.0)
        return fallback.1
    }

    /// The first row that names somebody.
    private static func line(of byline: PageFacts.Byline) -> String? { byline.rows.first { !people(in: $0).isEmpty } }

    private static let prefixes = [
        "view all posts by", "posts by", "more from", "written by", "posted by", "published by", "reported by",
        "words by", "story by", "by:", "by", "von:", "von", "par", "por", "di", "door",
        "author:", "authors:", "autor:", "auteur :", "text:", "geschrieben von", "veröffentlicht von",
        "gespeichert von", "submitted by", "publié par",
        "escrito por",
    ]

    private static let noise: Set<String> = [
        "admin", "administrator", "editor", "author", "guest", "staff", "user", "webmaster", "root", "unknown",
        "anonymous", "none", "null",
        "undefined", "about the author", "contributor", "author", "view the website", "more posts", "see all posts",
        "follow", "share", "contact",
        "view all posts", "profile", "home", "about", "website", "facebook", "twitter", "linkedin", "email",
        "redaktion", "the editors",
    ]

    /// The names in a line such as `By Ada Lovelace and Charles Babbage | May 3`; none when it reads like something else.
    static func people(in line: String) -> [String] {
        var text = Entities.decode(line).tidied
        if text.contains("://") || text.hasPrefix("www.") || text.hasPrefix("/") { return [] }
        let start = text.prefix(40).lowercased()
        if let prefix = prefixes.first(where: {
            start.utf8.starts(with: $0.utf8) && start.dropFirst($0.count).first == " "
        }) {
            text = text.dropFirst(prefix.count).tidied
        }
        if let end = text.firstIndex(where: { "|•·–—\u{2022}".contains($0) }) { text = text[..<end].tidied }
        if let end = text.ranges(of: " on ").first ?? text.ranges(of: ", Updated").first ?? dayWord(in: text) {
            text = text[..<end.lowerBound].tidied
        }
        let parts = text.replacing(" and ", with: ";").replacing(" & ", with: ";").replacing(" und ", with: ";")
            .replacing(" et ", with: ";")
            .split(separator: ";").map { $0.tidied }
        var names: [String] = []
        for part in parts.map({ $0.trimmingMarks }) {
            // `Lovelace, Ada` is one name; `Ada Lovelace, Charles Babbage` are two.
            let pieces = part.split(separator: ",").map { $0.tidied }.filter { !$0.isEmpty }
            let isList = pieces.count > 1 && pieces.allSatisfy { $0.contains(" ") }
            for piece in isList ? pieces : [pieces.count == 2 && !pieces[0].contains(" ") ? part : pieces.first ?? ""]
            where isName(piece) { names.append(piece) }
        }
        return names
    }

    /// ` am `, ` le ` and the like before a day: `Ada Lovelace am 3. Mai`.
    private static func dayWord(in text: String) -> Range<String.Index>? {
        [" am ", " le ", " el ", " em ", " op ", " il "].lazy.compactMap { text.ranges(of: $0).first }.first {
            text[$0.upperBound...].first?.isNumber == true
        }
    }

    private static func isName(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard (2...80).contains(text.utf8.count), text.contains(where: \.isLetter), !noise.contains(lower),
            !prefixes.contains(lower)
        else { return false }
        guard text.split(separator: " ").count <= 7, text.filter(\.isNumber).count <= 3,
            !text.contains("@") || text.hasPrefix("@")
        else { return false }
        return !text.hasSuffix("?") && !text.hasSuffix("!")
    }
}

extension String {
    /// Without marks and spaces at its ends that join it to something else.
    fileprivate var trimmingMarks: String {
        var text = Substring(self)
        while let last = text.last, " -–—:,;/|·•(".contains(last) { text = text.dropLast() }
        while let first = text.first, " -–—:,;/|·•)".contains(first) { text = text.dropFirst() }
        return String(text)
    }
}
