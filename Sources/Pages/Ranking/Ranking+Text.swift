import WebSyntax

extension Ranking {
    mutating func title() -> String? {
        let site = siteNames.lazy.compactMap { $0.value?.tidied }.first { !$0.isEmpty }
        let headings = facts.headings + facts.namedHeadings
        // If a title is only the name of the site, the heading is the better title.
        let host = hostLabel
        func isSite(_ text: String?) -> Bool {
            url.path != "/" && text.map { Self.isSite($0, site: site, host: host) } == true
        }
        let document: [Candidate] = [("title", facts.title)]
        let shown: [Candidate] = [
            ("h1", facts.headings.first { !isSite($0) }), ("heading", facts.namedHeadings.first { !isSite($0) }),
        ]
        let candidates =
            metas("og:title") + json("headline") + metas("twitter:title") + micro("headline")
            + metas("citation_title", "dc.title", "dcterms.title", "parsely-title", "sailthru.title") + json("name")
            + (isSite(facts.title) ? shown + document : document + shown)
        let plain = candidates.map { candidate -> Candidate in
            let title = candidate.value.map { value in
                let plain = Self.withoutSite(value, site: site, host: host, headings: headings)
                return candidate.source == "title" && plain == value ? Self.withoutAddition(value) : plain
            }
            return (candidate.source, title)
        }
        guard let chosen = first("title", plain, keepingOthers: true) else { return nil }
        // A visible heading that another source confirms outweighs a title for social networks.
        guard let heading = facts.headings.first, let source = sources["title"],
            source.hasPrefix("og:") || source.hasPrefix("twitter:"),
            !Self.isSame(heading, chosen),
            let other = disagreements["title"]?.filter({
                $0.key != "h1" && $0.key != "heading" && !$0.key.hasPrefix("twitter:") && Self.isSame($0.value, heading)
            })
            .keys.min()
        else { return chosen }
        take("title", heading, from: "h1", over: chosen)
        forget("title", other)
        return heading
    }

    /// Whether two titles are equal except for case, punctuation and a truncated end.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (one.bareLetters, other.bareLetters)
        return one == other
            || min(one.utf8.count, other.utf8.count) >= 30 && (one.hasPrefix(other) || other.hasPrefix(one))
    }

    static let titleSeparators = [" | ", " - ", " – ", " — ", " -- ", " :: ", " » ", " « ", " · ", " • ", " / ", " ∣ "]

    /// Returns `Story` for the title `Story | Site`. A part is removed if it is the site's name or looks like its host,
    /// or if the rest is the page's heading.
    static func withoutSite(_ title: String, site: String?, host: String, headings: [String]) -> String {
        let title = title.tidied
        for separator in titleSeparators {
            let parts = title.parts(separatedBy: separator)
            guard parts.count > 1, let first = parts.first else { continue }
            // In `Story - Site - Section`, everything from the site's name on is removed.
            let end =
                parts.indices.dropFirst().first { site != nil && parts[$0].lowercased() == site?.lowercased() }
                ?? parts.count - 1
            let isNamed = isSite(parts[end], site: site, host: host) || isSection(parts[end], of: site)
            let head = parts[..<end].joined(separator: separator)
            let rest = parts.dropFirst().joined(separator: separator)
            func isHeading(_ part: String) -> Bool { headings.contains { $0.lowercased() == part.lowercased() } }
            if !head.isEmpty, isNamed || isHeading(head) { return head }
            if !rest.isEmpty, isSite(first, site: site, host: host) || isHeading(rest) { return rest }
        }
        return title
    }

    /// Returns `Story` for the title `Story | Some site`, if nothing else shows which part is the site: the longest
    /// part is the story.
    static func withoutAddition(_ title: String) -> String {
        for separator in titleSeparators {
            let parts = title.parts(separatedBy: separator)
            guard parts.count > 1 else { continue }
            let isDash = separator == " - " || separator == " – " || separator == " — " || separator == " / "
            let addition = isDash ? parts.suffix(1) : ArraySlice(parts)
            guard
                let longest = isDash
                    ? parts.dropLast().joined(separator: separator) : parts.max(by: { $0.utf8.count < $1.utf8.count }),
                longest.split(separator: " ").count >= 3
            else { return title }
            let areShort = addition.allSatisfy { part in
                part == longest || part.split(separator: " ").count <= 4 && !part.contains(where: \.isNumber)
            }
            return areShort ? longest : title
        }
        return title
    }

    /// Whether the part is a section of the site: `Site Politics`, or `Site中文`, which needs no space.
    private static func isSection(_ part: String, of site: String?) -> Bool {
        guard let site, site.utf8.count >= 3, part.split(separator: " ").count <= site.split(separator: " ").count + 1,
            part.lowercased().hasPrefix(site.lowercased())
        else { return false }
        guard part.utf8.count <= 60, let next = part.dropFirst(site.count).first else { return false }
        return next == " " || !next.isASCII && next.isLetter
    }

    private static func isSite(_ part: String, site: String?, host: String) -> Bool {
        if part.isEmpty || part.utf8.count > 60 { return false }
        if let site, part.lowercased() == site.lowercased() { return true }
        return looksLike(part, host: host)
    }

    /// Whether the letters of a name are those of the host, or begin with them.
    static func looksLike(_ name: String, host: String) -> Bool {
        let letters = name.bareLetters
        return host.utf8.count >= 3 && (letters == host || host.utf8.count >= 5 && letters.hasPrefix(host))
            || letters == host + "com"
            || letters == "the" + host
    }

    /// The host's main label, for example `example` in `www.example.co.uk`.
    var hostLabel: String {
        let labels = url.host.lookupName.split(separator: ".").map(String.init)
        guard case .domain = url.host, labels.count > 1 else { return "" }
        var index = labels.count - 2
        if index > 0, ["co", "com", "org", "net", "ac", "gov", "edu", "ne", "or"].contains(labels[index]) {
            index -= 1
        }
        return labels[index].filter { $0 != "-" }
    }

    /// The part of the title that is probably the site's name: it looks like the host, or the rest is a title of the
    /// page.
    private var siteInTitle: String? {
        guard let title = facts.title?.tidied else { return nil }
        for separator in Self.titleSeparators {
            let parts = title.parts(separatedBy: separator)
            guard parts.count > 1 else { continue }
            for part in [parts[parts.count - 1], parts[0]] where Self.looksLike(part, host: hostLabel) { return part }
            // In `Story | Site`, the page states `Story` as a title elsewhere too.
            let head = parts.dropLast().joined(separator: " ").bareLetters
            let titles: [String?] = [
                facts.meta("og:title"), facts.meta("twitter:title"), linked.text(subject, "headline"),
            ]
            if parts[parts.count - 1].utf8.count <= 40, titles.contains(where: { $0?.bareLetters == head }) {
                return parts[parts.count - 1]
            }
        }
        return nil
    }

    mutating func description() -> String? {
        let stated =
            metas("og:description", "description", "twitter:description") + json("description") + micro("description")
            + metas(
                "dc.description", "dcterms.description", "dcterms.abstract", "citation_abstract",
                "sailthru.description")
        return first("description", stated, keepingOthers: true)
            ?? first("description", [("p", facts.shown.paragraph)])
    }

    /// Returns candidates for the site's name, best first.
    func findSiteNames() -> [Candidate] {
        [meta("og:site_name")]
            + [
                ("json-ld publisher", linked.text(linked.resolved(subject?["publisher"] ?? .null), "name")),
                ("json-ld WebSite", linked.text(linked.webSite, "name")),
                ("json-ld isPartOf", linked.text(linked.resolved(subject?["isPartOf"] ?? .null), "name")),
                ("microdata publisher", items.text(item, "publisher")),
            ]
            + metas(
                "application-name", "apple-mobile-web-app-title", "al:android:app_name", "al:ios:app_name",
                "publisher", "dc.publisher", "citation_journal_title")
            + [("title", siteInTitle)]
    }

    mutating func siteName() -> String? { first("site_name", siteNames) }

    mutating func language() -> String? {
        let candidates: [Candidate] =
            [("html lang", facts.language), meta("content-language"), meta("og:locale")] + json("inLanguage")
            + metas("dc.language", "language")
        return first(
            "language",
            candidates.map { source, value in
                (source, value.flatMap { Self.languageTag($0) })
            })
    }

    /// Returns a tag in the form of BCP 47: `pt_BR` and `en-us, de` become `pt-BR` and `en-US`. Nil if the text is not
    /// a language tag.
    static func languageTag(_ text: String) -> String? {
        let first = text.split { $0 == "," || $0 == ";" || $0.isWhitespace }.first ?? ""
        let parts = first.replacing("_", with: "-").split(separator: "-").map(String.init)
        guard let primary = parts.first, (2...3).contains(primary.utf8.count),
            primary.allSatisfy({ $0.isASCII && $0.isLetter }),
            parts.allSatisfy({ $0.utf8.count <= 8 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
        else { return nil }
        let rest = parts.dropFirst().map { part in
            switch part.utf8.count {
            case 2: part.uppercased()
            case 4: part.prefix(1).uppercased() + part.dropFirst().lowercased()
            default: part.lowercased()
            }
        }
        return ([primary.lowercased()] + rest).joined(separator: "-")
    }

    mutating func type() -> String? {
        let types = subject.map(LinkedData.types) ?? []
        let telling = types.first(where: LinkedData.isArticle) ?? types.first { $0 != "Thing" && $0 != "CreativeWork" }
        let named = (telling ?? types.first).map { type in
            LinkedData.isArticle(type) ? "article" : type == "VideoObject" ? "video.other" : type.lowercased()
        }
        return first(
            "type", [meta("og:type"), ("json-ld @type", named?.hasSuffix("page") == true ? "website" : named)])?
            .lowercased()
    }

    mutating func tags() -> [String]? {
        let keywords = (subject?["keywords"]?.all ?? []).compactMap { $0.text ?? $0["name"]?.text }
        let lists =
            metaLists("article:tag") + [("json-ld keywords", keywords)]
            + metaLists("keywords", "news_keywords", "parsely-tags", "sailthru.tags") + [("rel tag", facts.tags)]
        for (source, values) in lists {
            // One value may be a list separated by commas. If there are several `article:tag` values, each is one tag
            // and may contain a comma.
            let split =
                values.count > 1 && source == "article:tag"
                ? values : values.flatMap { $0.split { $0 == "," || $0 == ";" }.map(String.init) }
            var tags: [String] = []
            for tag in split.map({ CharacterReferences.decode($0).tidied })
            where !tag.isEmpty && tag.utf8.count <= 100 && !tags.contains(tag) {
                tags.append(tag)
                if tags.count == 50 { break }
            }
            if !tags.isEmpty {
                note("tags", from: source)
                return tags
            }
        }
        return nil
    }

    mutating func paywall() -> Bool? {
        for (source, value) in json("isAccessibleForFree") + micro("isAccessibleForFree") {
            guard let value = value?.lowercased() else { continue }
            note("paywalled", from: source)
            return value == "false" || value == "0"
        }
        guard let tier = facts.meta("article:content_tier")?.lowercased() else { return nil }
        note("paywalled", from: "article:content_tier")
        return tier != "free"
    }

    mutating func words() -> Int? {
        if let count = linked.text(subject, "wordCount").flatMap({ Int($0) }), count > 0 {
            note("word_count", from: "json-ld wordCount")
            return count
        }
        guard facts.words > 0 else { return nil }
        note("word_count", from: "paragraphs")
        return facts.words
    }
}
