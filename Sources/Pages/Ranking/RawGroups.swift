/// Copies a page's metadata to the output by groups, as the page wrote it but with size limits, since results are
/// stored and must stay small.
///
/// All groups together take at most 192 KiB, a text 4,000 bytes, a key of `meta` elements 50 values, and a JSON array
/// 200 elements. Longer texts and lists are truncated, and everything beyond the total is left out. Members that
/// contain the full text of an article are left out too.
struct RawGroups {
    static let maxBytes = 192 << 10
    static let maxTextBytes = 4000
    static let maxValues = 50
    static let maxDepth = 12

    private var left = Self.maxBytes
    private static let articles: Set<String> = ["articleBody", "reviewBody", "text", "transcript", "articlebody"]

    /// Returns the contents of all `meta` elements whose key begins with one of the prefixes, by key and in page order;
    /// nil if there are none.
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

    /// Returns the text, truncated if it is too long; nil if the total leaves no room for it. The characters that JSON
    /// adds also count: quotes, comma, escapes.
    private mutating func take(_ text: String) -> String? {
        let text = text.cut(to: Self.maxTextBytes)
        let size = text.utf8.reduce(4) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x2F || $1 == 0x5C ? 2 : 1) }
        guard size <= left else { return nil }
        left -= size
        return text
    }
}
