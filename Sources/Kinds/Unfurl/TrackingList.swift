/// A list of tracking parameters as an administrator keeps it, or takes from those who publish one.
///
/// A line is `NAME`, or `HOST NAME` for one site and what is beneath it; `*` at the end of a name stands for any ending. Lines of
/// filter lists are understood too: `$removeparam=NAME`, `||HOST^$removeparam=NAME`, and both after `@@` for what is kept. What
/// begins with `#`, `!` or `[` says nothing.
public struct TrackingList: Sendable, Hashable {
    struct Rule: Sendable, Hashable {
        var host: String?
        var name: String
        /// Whether the parameter is kept there.
        var isException = false
    }

    private(set) var rules: [Rule] = []
    /// Lines of filter lists that say more than a name and a host (regular expressions, kinds of requests), and so drop nothing.
    public private(set) var skipped = 0

    public var count: Int { rules.count }

    /// A line that is none of these.
    public struct Problem: Error, Sendable, Hashable {
        public var line: Int
    }

    public init(_ text: String) throws(Problem) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.tidied
            guard let first = line.first, !"#![".contains(first) else { continue }
            if line.contains("$") {
                if let rule = Self.filter(line) { rules.append(rule) } else { skipped += 1 }
                continue
            }
            let words = line.split(separator: " ")
            guard let name = words.last, words.count <= 2, Self.isName(name) else { throw Problem(line: index + 1) }
            let host = words.count == 2 ? Self.domain(words[0]) : nil
            guard words.count == 1 || host != nil else { throw Problem(line: index + 1) }
            rules.append(Rule(host: host, name: String(name)))
        }
    }

    private static func filter(_ line: String) -> Rule? {
        guard let dollar = line.lastIndex(of: "$") else { return nil }
        var place = line[..<dollar]
        let isException = place.hasPrefix("@@")
        if isException { place = place.dropFirst(2) }
        var name: Substring?
        for option in line[line.index(after: dollar)...].split(separator: ",") {
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch parts[0] {
            case "removeparam", "queryprune": name = parts.count == 2 ? parts[1] : isException ? "*" : nil
            case "doc", "document", "important": break
            default: return nil
            }
        }
        guard let name, isName(name) || name == "*" else { return nil }
        if place.isEmpty || place == "*" { return Rule(name: String(name), isException: isException) }
        guard place.hasPrefix("||"), place.hasSuffix("^"), let host = domain(place.dropFirst(2).dropLast()) else {
            return nil
        }
        return Rule(host: host, name: String(name), isException: isException)
    }

    /// Not a regular expression, and not all but one.
    private static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= 100 && !"/~".contains(text.first ?? "/") && text != "*"
            && !text.dropLast().contains("*") && !text.contains { "&=#?".contains($0) }
    }

    private static func domain(_ text: some StringProtocol) -> String? {
        guard case .domain(let domain)? = WebHost(parsing: String(text)) else { return nil }
        return domain
    }
}
