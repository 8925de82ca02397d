/// What the page says in JSON-LD, as schema.org objects.
struct LinkedData: Sendable {
    /// Objects at the top, in `@graph`, and those they are the main entity of; in order.
    private var nodes: [LooseJSON] = []
    private var named: [String: LooseJSON] = [:]

    init(_ scripts: [[UInt8]]) {
        for script in scripts {
            for value in LooseJSON.parse(script) { take(value, depth: 0) }
        }
    }

    init(items: [LooseJSON]) {
        for item in items { take(item, depth: 0) }
    }

    private mutating func take(_ value: LooseJSON, depth: Int) {
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

    static func types(_ node: LooseJSON) -> [String] {
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

    /// What the page is about: an article before anything else, the page itself last.
    var subject: LooseJSON? {
        // An article that a mistake cut short is no rival of a whole one.
        nodes.first { Self.types($0).contains(where: Self.isArticle) && text($0, "headline", "name") != nil }
            ?? nodes.first { Self.types($0).contains(where: Self.isArticle) }
            ?? nodes.first { Self.types($0).contains(where: Self.subjects.contains) }
            ?? nodes.first { Self.types($0).contains { $0.hasSuffix("Page") } }
    }

    var webPage: LooseJSON? { nodes.first { Self.types($0).contains { $0.hasSuffix("Page") } } }
    var webSite: LooseJSON? { nodes.first { Self.types($0).contains("WebSite") } }

    /// An object in the place of its `@id`.
    func resolved(_ value: LooseJSON) -> LooseJSON {
        if case .object(let members) = value, members.allSatisfy({ $0.name.hasPrefix("@") }),
            let id = value["@id"]?.text,
            let node = named[id]
        {
            return node
        }
        return value
    }

    func text(_ node: LooseJSON?, _ names: String...) -> String? {
        for name in names {
            guard let value = node?[name] else { continue }
            for element in value.all {
                if let text = element.text.map(Entities.decode)?.tidied, !text.isEmpty { return text }
                if let text = element["name"]?.text.map(Entities.decode)?.tidied, !text.isEmpty { return text }
            }
        }
        return nil
    }

    /// Names of people or organizations, each once.
    func names(_ node: LooseJSON?, _ property: String) -> [String] {
        var names: [String] = []
        for value in node?[property]?.all ?? [] {
            let person = resolved(value)
            let found: [String] =
                if case .object = person { (person["name"]?.all ?? []).compactMap { $0.text } } else {
                    [person.text].compactMap { $0 }
                }
            for name in found.map({ Entities.decode($0).tidied }) where !name.isEmpty && !names.contains(name) {
                names.append(name)
            }
        }
        return names
    }

    /// An address: a string, or an object's `url` or `contentUrl`.
    func address(_ value: LooseJSON?) -> String? {
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
