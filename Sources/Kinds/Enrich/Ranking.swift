/// Chooses, for each field, the source that publishers get right most often.
struct Ranking {
    let facts: PageFacts
    let url: WebURL
    let base: WebURL
    let linked: LinkedData
    let items: LinkedData
    /// What the page is about, in JSON-LD and in microdata.
    let subject: JSONValue?
    let item: JSONValue?
    private(set) var siteNames: [Candidate] = []
    private(set) var sources: [String: String] = [:]
    private(set) var disagreements: [String: [String: String]] = [:]

    /// By the page's language: only in American English does the month come first.
    let dateOrder: WildDate.Order?

    typealias Candidate = (source: String, value: String?)

    init(_ facts: PageFacts, at url: WebURL) {
        self.facts = facts
        self.url = url
        // A base that cannot be read is as if there were none.
        base = facts.base.flatMap { try? WebURL(parsing: $0, base: url) } ?? url
        linked = LinkedData(facts.jsonLD)
        items = LinkedData(items: facts.items)
        let addresses = [facts.link("canonical")?.href, facts.meta("og:url"), "\(url)"].compactMap { $0 }
        let titles = [facts.meta("og:title"), facts.title].compactMap { $0 } + facts.headings.prefix(2)
        let page = LinkedData.Page(addresses: addresses, titles: titles)
        subject = linked.subject(of: page)
        // Teasers are marked up like articles: of several, only one that is this page's own counts.
        item = items.subject(of: page, isCertain: true)
        dateOrder = Self.dateOrder(of: facts.language ?? facts.meta("og:locale") ?? facts.meta("content-language"))
        siteNames = findSiteNames()
    }

    /// The first candidate that says something.
    mutating func first(_ field: String, _ candidates: [Candidate], keepingOthers: Bool = false) -> String? {
        var chosen: String?
        for candidate in candidates {
            guard let value = candidate.value.map(Entities.decode)?.tidied.cut(to: RawGroups.maxTextBytes),
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

    /// Puts another value in the place of the chosen one, which is kept as a disagreement.
    mutating func take(_ field: String, _ value: String, from source: String, over chosen: String) {
        if let old = sources[field] { disagreements[field, default: [:]][old] = String(chosen.prefix(500)) }
        disagreements[field]?[source] = nil
        sources[field] = source
    }

    /// Keeps another value than the chosen one.
    mutating func disagree(_ field: String, _ value: String, from source: String) {
        guard disagreements[field, default: [:]].count < 8 else { return }
        disagreements[field, default: [:]][source] = String(value.prefix(500))
    }

    /// Leaves out what disagrees only in how it is written.
    mutating func forget(_ field: String, _ source: String) { disagreements[field]?[source] = nil }

    mutating func note(_ field: String, from source: String) { sources[field] = source }

    func absolute(_ text: String) -> String? {
        let text = Entities.decode(text).trimmingSpaces
        if text.isEmpty || text.utf8.count > 2048 { return nil }
        // A reference that cannot be resolved is the page's mistake; it is left out.
        return try? WebURL(parsing: text, base: base).description
    }

    func meta(_ key: String) -> Candidate { (key, facts.meta(key)) }

    func metas(_ keys: String...) -> [Candidate] { keys.map { meta($0) } }

    func json(_ names: String...) -> [Candidate] {
        names.map { ("json-ld " + $0, linked.text(subject, $0) ?? linked.text(linked.webPage, $0)) }
    }

    func micro(_ names: String...) -> [Candidate] {
        names.map { ("microdata " + $0, items.text(item, $0)) }
    }
}
