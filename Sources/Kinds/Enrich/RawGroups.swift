/// What a page says, group by group and as it says it, within bounds: a result is stored, and must stay small.
///
/// All groups together take at most 192 KiB, a text 4,000 bytes and a list 50 values; what is longer is cut, and what comes
/// after is left out. Members that hold the whole text of an article are left out too.
struct RawGroups {
    static let maxBytes = 192 << 10
    static let maxTextBytes = 4000
    static let maxValues = 50
    static let maxDepth = 12

    private var left = Self.maxBytes
    private static let articles: Set<String> = ["articleBody", "reviewBody", "text", "transcript", "articlebody"]

    /// The metas whose key begins with one of these, by key, in the page's order; nil when there is none.
    mutating func group(_ prefixes: String..., of metas: [PageFacts.Meta]) -> [String: [String]]? {
        var group: [String: [String]] = [:]
        for meta in metas where !meta.content.isEmpty && prefixes.contains(where: meta.key.hasPrefix) {
            guard group[meta.key, default: []].count < Self.maxValues, let text = take(meta.content),
                group[meta.key] != nil || take(meta.key) != nil
            else { continue }
            group[meta.key, default: []].append(text)
        }
        return group.isEmpty ? nil : group
    }

    mutating func values(_ values: [JSONValue]) -> [JSONValue]? {
        let kept = values.compactMap { bounded($0, depth: 0) }
        return kept.isEmpty ? nil : kept
    }

    private mutating func bounded(_ value: JSONValue, depth: Int) -> JSONValue? {
        guard depth < Self.maxDepth, left > 0 else { return nil }
        switch value {
        case .null, .bool, .number:
            left -= 24
            return value
        case .string(let text): return take(text).map { .string($0) }
        case .array(let elements):
            left -= 2
            return .array(elements.prefix(Self.maxValues * 4).compactMap { bounded($0, depth: depth + 1) })
        case .object(let members):
            left -= 2
            var kept: [(name: String, value: JSONValue)] = []
            var names: Set<String> = []
            for (name, value) in members where !Self.articles.contains(name) && names.insert(name).inserted {
                guard let name = take(name), let value = bounded(value, depth: depth + 1) else { continue }
                kept.append((name, value))
            }
            return .object(kept)
        }
    }

    /// The text, cut where it is too long; nil when nothing is left for it. Counts what JSON adds: quotes, comma, escapes.
    private mutating func take(_ text: String) -> String? {
        let text = text.cut(to: Self.maxTextBytes)
        let size = text.utf8.reduce(4) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x2F || $1 == 0x5C ? 2 : 1) }
        guard size <= left else { return nil }
        left -= size
        return text
    }
}
