import WebSyntax

/// Chooses for each field the value from the source that publishers get right most often.
struct Ranking {
    let facts: PageFacts
    let url: WebURL
    let base: WebURL
    let linked: LinkedData
    let items: LinkedData
    /// The object that the page is about, in JSON-LD.
    let subject: JSONValue?
    /// The object that the page is about, in microdata.
    let item: JSONValue?
    private(set) var siteNames: [Candidate] = []
    private(set) var sources: [String: String] = [:]
    private(set) var disagreements: [String: [String: String]] = [:]

    /// The order of day and month in numeric dates, by the page's language: only American English puts the month first.
    /// Nil if the language does not decide it.
    let dateOrder: WildDate.Order?

    typealias Candidate = (source: String, value: String?)

    init(_ facts: PageFacts, at url: WebURL) {
        self.facts = facts
        self.url = url
        // An invalid base address is ignored.
        base = facts.base.flatMap { try? WebURL(parsing: $0, base: url) } ?? url
        linked = LinkedData(facts.jsonLD)
        items = LinkedData(items: facts.items)
        let addresses = [facts.link("canonical")?.href, facts.meta("og:url"), "\(url)"].compactMap { $0 }
        let titles = [facts.meta("og:title"), facts.title].compactMap { $0 } + facts.headings.prefix(2)
        let page = LinkedData.Page(addresses: addresses, titles: titles)
        subject = linked.subject(of: page)
        // Teasers for other pages have the same markup as articles. If there are several articles, only the page's own
        // is used.
        item = items.subject(of: page, isCertain: true)
        dateOrder = Self.dateOrder(of: facts.language ?? facts.meta("og:locale") ?? facts.meta("content-language"))
        siteNames = findSiteNames()
    }

    /// Returns the first candidate with a nonempty value and records its source.
    ///
    /// - Parameter keepingOthers: Whether to record different values of later candidates as disagreements.
    mutating func first(_ field: String, _ candidates: [Candidate], keepingOthers: Bool = false) -> String? {
        var chosen: String?
        for candidate in candidates {
            guard let value = candidate.value.map(CharacterReferences.decode)?.tidied.cut(to: RawGroups.maxTextBytes),
                !value.isEmpty
            else { continue }
            if let chosen {
                guard keepingOthers else { break }
                if value != chosen { disagree(field, value, from: candidate.source) }
            } else {
                chosen = value
                sources[field] = candidate.source
            }
        }
        return chosen
    }

    mutating func firstURL(_ field: String, _ candidates: [Candidate]) -> String? {
        first(
            field, candidates.map { ($0.source, $0.value.flatMap(absolute)) }, keepingOthers: field == "canonical_url")
    }

    mutating func firstDate(_ field: String, _ candidates: [Candidate]) -> String? {
        first(
            field, candidates.map { ($0.source, $0.value.flatMap { WildDate.iso($0, order: dateOrder) }) },
            keepingOthers: true)
    }

    /// Records that `value` replaces the chosen value, which becomes a disagreement.
    mutating func take(_ field: String, _ value: String, from source: String, over chosen: String) {
        if let old = sources[field] { disagreements[field, default: [:]][old] = String(chosen.prefix(500)) }
        disagreements[field]?[source] = nil
        sources[field] = source
    }

    /// Records a value that differs from the chosen one. At most 8 are kept for each field.
    mutating func disagree(_ field: String, _ value: String, from source: String) {
        guard disagreements[field, default: [:]].count < 8 else { return }
        disagreements[field, default: [:]][source] = String(value.prefix(500))
    }

    /// Removes a recorded value that differs from the chosen one only in spelling.
    mutating func forget(_ field: String, _ source: String) { disagreements[field]?[source] = nil }

    mutating func note(_ field: String, from source: String) { sources[field] = source }

    func absolute(_ text: String) -> String? {
        let text = CharacterReferences.decode(text).trimmingSpaces
        if text.isEmpty || text.utf8.count > 2048 { return nil }
        // An invalid reference is the page's mistake, so it is left out.
        return try? WebURL(parsing: text, base: base).description
    }

    func meta(_ key: String) -> Candidate { (key, facts.meta(key)) }

    func metas(_ keys: String...) -> [Candidate] { keys.map { meta($0) } }

    /// Returns all values of each key.
    func metaLists(_ keys: String...) -> [(source: String, values: [String])] { keys.map { ($0, facts.metaAll($0)) } }

    func json(_ names: String...) -> [Candidate] {
        names.map { ("json-ld " + $0, linked.text(subject, $0) ?? linked.text(linked.webPage, $0)) }
    }

    func micro(_ names: String...) -> [Candidate] {
        names.map { ("microdata " + $0, items.text(item, $0)) }
    }
}
