extension Ranking {
    /// Returns the page's authors: people if possible, otherwise the site or an account that the page names as its
    /// author.
    mutating func authors() -> [String]? {
        var found: [(source: String, values: [String])] = [
            ("json-ld author", linked.names(subject, "author")), ("json-ld creator", linked.names(subject, "creator")),
            ("microdata author", items.names(item, "author")),
        ]
        found += metaLists(
            "citation_author", "parsely-author", "sailthru.author", "author", "article:author", "dc.creator",
            "dcterms.creator", "byl", "article:author_name", "rbauthors")
        if facts.meta("twitter:label1")?.lowercased().hasPrefix("written by") == true {
            found += metaLists("twitter:data1")
        }
        found += [
            ("byline", bylines { $0.rank < 3 }), ("text by", announced), ("author link", bylines { $0.rank == 3 }),
            ("json-ld publisher", publishingPerson), ("copyright", owner),
        ]
        let sites = Set(siteNames.compactMap { $0.value?.tidied.lowercased() })
        var chosen: [String]?
        var fallback: (String, [String])?
        for (source, values) in found {
            var names: [String] = []
            for name in values.flatMap(Bylines.people)
            where !names.contains(where: { $0.lowercased() == name.lowercased() }) { names.append(name) }
            if names.isEmpty { continue }
            if let chosen {
                if Set(names) != Set(chosen) { disagree("author", names.joined(separator: ", "), from: source) }
                continue
            }
            // A site that names itself as the author is used only if no other source names a person.
            if names.allSatisfy({ sites.contains($0.lowercased()) || Self.looksLike($0, host: hostLabel) }) {
                fallback = fallback ?? (source, names)
                continue
            }
            // The name of an account is used only if there is no other name.
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

    /// Returns the best bylines: the most certain ones first, and those after the heading before those above it.
    private func bylines(_ isWanted: (PageFacts.Byline) -> Bool) -> [String] {
        // Bylines of the same rank keep their order, in which an inner one precedes the one that contains it.
        let bylines = facts.bylines.filter(isWanted).enumerated().sorted {
            ($0.element.rank, $0.element.isAfterHeading ? 0 : 1, $0.offset)
                < ($1.element.rank, $1.element.isAfterHeading ? 0 : 1, $1.offset)
        }.map(\.element)
        guard let index = bylines.firstIndex(where: { Self.line(of: $0) != nil }) else { return [] }
        // Several links of the same kind name several authors if they directly follow each other.
        var lines: [String] = []
        var number = bylines[index].number
        for byline in bylines[index...] where byline.rank == bylines[index].rank {
            let isLink = byline.rank == 0 || byline.rank == 3
            guard let line = Self.line(of: byline), lines.isEmpty || isLink && byline.number - number <= 4 else {
                break
            }
            lines.append(line)
            number = byline.number
        }
        return lines
    }

    /// Returns the first row of a byline that contains a name.
    private static func line(of byline: PageFacts.Byline) -> String? {
        byline.rows.first { !Bylines.people(in: $0).isEmpty }
    }

    /// The authors in lines near the heading that begin like a byline but are not marked as one.
    private var announced: [String] {
        let near = facts.shown.lines.filter { $0.distance.map { (-6...25).contains($0) } ?? true }
        return near.lazy.map { Bylines.announced(in: $0.text) }.first { !$0.isEmpty } ?? []
    }

    private var publisher: JSONValue {
        linked.resolved(subject?["publisher"] ?? linked.webSite?["publisher"] ?? .null)
    }

    /// The publisher, if it is a person, as on a personal site.
    private var publishingPerson: [String] {
        LinkedData.types(publisher).contains("Person") ? linked.names(.object([("x", publisher)]), "x") : []
    }

    /// The owner of a personal site: a name next to `©` that is also the name of the host. A company's site may look
    /// the same, so the page must be a dated post and must not state a publisher or a site name.
    private var owner: [String] {
        let isPost = Self.date(in: url) != nil || facts.moments.contains { WildDate.iso($0.text) != nil }
        guard isPost, LinkedData.types(publisher).isEmpty, facts.meta("og:site_name") == nil else { return [] }
        for line in facts.shown.rights {
            let words = CharacterReferences.decode(line).split { !$0.isLetter && $0 != "-" }.filter {
                $0.contains(where: \.isLetter)
            }
            for start in words.indices {
                for end in words.indices.dropFirst(start + 1).prefix(3) {
                    let name = words[start...end].joined(separator: " ")
                    if Bylines.looksLikePerson(name), name.bareLetters == hostLabel { return [name] }
                }
            }
        }
        return []
    }
}
