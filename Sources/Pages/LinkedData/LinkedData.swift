/// A page's JSON-LD or microdata, read as schema.org objects.
struct LinkedData: Sendable {
    /// The objects at the top level, in `@graph`, and in the `mainEntity` or `mainEntityOfPage` of these, in page
    /// order.
    private var nodes: [JSONValue] = []
    /// The objects that have an `@id` and a type, by `@id`.
    private var named: [String: JSONValue] = [:]
    /// The top-level values as written on the page.
    private(set) var roots: [JSONValue] = []

    init(_ scripts: [[UInt8]]) {
        for script in scripts {
            let values = LooseJSON.parse(script)
            roots += values
            for value in values { take(value, depth: 0) }
        }
    }

    init(items: [JSONValue]) {
        roots = items
        for item in items { take(item, depth: 0) }
    }

    private mutating func take(_ value: JSONValue, depth: Int) {
        guard depth < 6, nodes.count < 500 else { return }
        switch value {
        case .array(let elements): for element in elements { take(element, depth: depth + 1) }
        case .object:
            if let graph = value["@graph"] {
                take(graph, depth: depth + 1)
                if value["@type"] == nil { return }
            }
            nodes.append(value)
            if let id = value["@id"]?.text, named[id] == nil, value["@type"] != nil { named[id] = value }
            for name in ["mainEntity", "mainEntityOfPage"] {
                if let inner = value[name], inner["@type"] != nil { take(inner, depth: depth + 1) }
            }
        default: break
        }
    }

    static func types(_ node: JSONValue) -> [String] {
        (node["@type"]?.all ?? []).compactMap { $0.text }.map { type in
            String(type.split { $0 == "/" || $0 == "#" || $0 == ":" }.last ?? "")
        }
    }

    static func isArticle(_ type: String) -> Bool {
        type.hasSuffix("Article") || type.hasSuffix("Posting") && type != "JobPosting" || type == "Report"
            || type == "Review"
    }

    private static let subjects: Set<String> = [
        "VideoObject", "PodcastEpisode", "AudioObject", "Recipe", "Product", "Event", "Book", "Movie", "TVEpisode",
        "Course",
        "SoftwareApplication", "SoftwareSourceCode", "JobPosting", "MusicRecording", "MusicAlbum", "Dataset", "QAPage",
        "HowTo",
        "LiveBlogPosting", "Episode", "RadioEpisode", "CreativeWork", "PodcastSeries", "Car", "Vehicle", "ImageObject",
        "Photograph",
    ]

    /// The addresses and titles that identify a page's own object among objects about other pages.
    struct Page: Sendable {
        var addresses: [String]
        var titles: [String]

        init(addresses: [String], titles: [String]) {
            self.addresses = addresses.map(Self.plainAddress)
            self.titles = titles.map(Self.letters)
        }

        fileprivate static func plainAddress(_ text: String) -> String {
            var text = text.prefix { $0 != "#" && $0 != "?" }
            while text.last == "/" { text = text.dropLast() }
            return String(text.drop { $0 != ":" })
        }

        fileprivate static func letters(_ text: String) -> String {
            CharacterReferences.decode(text).bareLetters
        }

        /// Whether the text equals one of the titles, or one of the titles begins with the text or the text with it, if
        /// both have at least 15 bytes.
        fileprivate func isTitled(_ text: String) -> Bool {
            let text = Self.letters(text)
            return titles.contains {
                $0 == text || min($0.utf8.count, text.utf8.count) >= 15 && ($0.hasPrefix(text) || text.hasPrefix($0))
            }
        }
    }

    /// Returns the object that the page is about: preferably an article, then another subject, and last the page
    /// itself.
    ///
    /// - Parameter isCertain: Whether an article among several is accepted only if it has the page's address or title.
    func subject(of page: Page, isCertain: Bool = false) -> JSONValue? {
        let articles = nodes.filter { Self.types($0).contains(where: Self.isArticle) }
        let scored = articles.map { (article: $0, score: score($0, page)) }
        // A syntax error may have truncated an article and removed its address or title. A complete one then scores
        // higher.
        if let best = scored.map(\.score).max(), !isCertain || articles.count == 1 || best > 1 {
            return scored.first { $0.score == best }?.article
        }
        return nodes.first { Self.types($0).contains(where: Self.subjects.contains) }
            ?? nodes.first { Self.types($0).contains { $0.hasSuffix("Page") } }
    }

    private func score(_ article: JSONValue, _ page: Page) -> Int {
        let addresses = ["url", "mainEntityOfPage", "@id"].compactMap { address(article[$0]) }
        if addresses.contains(where: { page.addresses.contains(Page.plainAddress($0)) }) { return 3 }
        guard let title = text(article, "headline", "name") else { return 0 }
        return page.isTitled(title) ? 2 : 1
    }

    var webPage: JSONValue? { nodes.first { Self.types($0).contains { $0.hasSuffix("Page") } } }
    var webSite: JSONValue? { nodes.first { Self.types($0).contains("WebSite") } }

    /// Returns the object that a reference such as `{"@id": "…"}` points to. Other values are returned unchanged.
    func resolved(_ value: JSONValue) -> JSONValue {
        if case .object(let members) = value, members.allSatisfy({ $0.name.hasPrefix("@") }),
            let id = value["@id"]?.text,
            let node = named[id]
        {
            return node
        }
        return value
    }

    func text(_ node: JSONValue?, _ names: String...) -> String? {
        for name in names {
            guard let value = node?[name] else { continue }
            for element in value.all {
                if let text = element.text.map(CharacterReferences.decode)?.tidied, !text.isEmpty { return text }
                if let text = element["name"]?.text.map(CharacterReferences.decode)?.tidied, !text.isEmpty {
                    return text
                }
            }
        }
        return nil
    }

    /// Returns the names of the people or organizations in a property, without duplicates.
    func names(_ node: JSONValue?, _ property: String) -> [String] {
        var names: [String] = []
        for value in node?[property]?.all ?? [] {
            let person = resolved(value)
            let found: [String] =
                if case .object = person { (person["name"]?.all ?? []).compactMap { $0.text } } else {
                    [person.text].compactMap { $0 }
                }
            for name in found.map({ CharacterReferences.decode($0).tidied })
            where !name.isEmpty && !names.contains(name) {
                names.append(name)
            }
        }
        return names
    }

    /// Returns the first address in a value: a string, or the `url`, `contentUrl` or `@id` of an object.
    func address(_ value: JSONValue?) -> String? {
        for element in value?.all ?? [] {
            if case .string(let text) = element, !text.isEmpty { return text }
            let object = resolved(element)
            for name in ["url", "contentUrl", "@id"] {
                if let text = object[name]?.text, text.contains("/") { return text }
            }
        }
        return nil
    }
}
