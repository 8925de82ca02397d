import Pages
import WebSyntax

/// A list of tracking parameters, written by the administrator or published by others, such as ad blockers.
///
/// A line is `NAME`, or `HOST NAME` for one site and its subdomains. A `*` at the end of a name matches any ending.
/// Some lines of ad blockers' filter lists are also supported: `$removeparam=NAME`, `||HOST^$removeparam=NAME`, and
/// both after `@@` for exceptions. Lines that begin with `#`, `!` or `[` are ignored.
///
/// If a rule is not fully supported, fewer parameters are removed, never more: a rule that removes a parameter is
/// skipped, and an exception keeps at least the parameters that it names.
public struct TrackingList: Sendable, Hashable {
    struct Rule: Sendable, Hashable {
        var host: String?
        var name: String
        /// Whether the rule is an exception, which keeps the parameter.
        var isException = false
    }

    private(set) var rules: [Rule] = []
    /// The number of filter-list lines that were skipped: lines that are not about parameters, or that contain more
    /// than a name and a host (regular expressions, request types).
    public private(set) var skipped = 0

    /// The number of rules that were read.
    public var count: Int { rules.count }

    /// An invalid line.
    public struct Problem: Error, Sendable, Hashable {
        /// The line's number, counted from 1.
        public var line: Int
    }

    /// Parses a list.
    ///
    /// - Throws: ``Problem`` for the first line that is neither a filter-list rule nor `NAME` or `HOST NAME`.
    public init(_ text: String) throws(Problem) {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let line = (line.first == "\u{FEFF}" ? line.dropFirst() : line).tidied
            guard let first = line.first, !"#![".contains(first) else { continue }
            if ["$", "##", "#@#", "#?#", "||", "@@", "^"].contains(where: line.contains) {
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
        // The options begin at the last `$`, since a regular expression before them may contain another one.
        guard
            let mark = ["$removeparam", "$queryprune", ",removeparam", ",queryprune"].compactMap({
                line.firstRange(of: $0)
            }).first,
            let dollar = line[..<mark.upperBound].lastIndex(of: "$")
        else { return nil }
        var place = line[..<dollar]
        var isException = place.hasPrefix("@@")
        if isException { place = place.dropFirst(2) }
        var name: Substring?
        var isExact = true
        for option in line[line.index(after: dollar)...].split(separator: ",") {
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch parts[0] {
            case "removeparam", "queryprune": name = parts.count == 2 ? parts[1] : "*"
            case "doc", "document", "important": break
            // `badfilter` cancels a rule. An exception for the parameter has at least that effect.
            case "badfilter": isException = true
            default: isExact = false
            }
        }
        guard let name else { return nil }
        let host = place.hasPrefix("||") && place.hasSuffix("^") ? domain(place.dropFirst(2).dropLast()) : nil
        if isException {
            let beginning = place.hasPrefix("||") ? place.dropFirst(2).prefix { !"^/:?*|".contains($0) } : ""
            let isWhole = place.dropFirst(2 + beginning.count).first != "*"
            return Rule(
                host: host ?? (isWhole ? domain(beginning) : nil), name: isName(name) ? String(name) : "*",
                isException: true)
        }
        guard isExact, isName(name), host != nil || place.isEmpty || place == "*" else { return nil }
        return Rule(host: host, name: String(name))
    }

    /// Whether the text is a plain name, not a regular expression, a negation or `*`.
    private static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= 100 && !"/~".contains(text.first ?? "/") && text != "*"
            && !text.dropLast().contains("*") && !text.contains { "&=#?|^".contains($0) }
    }

    /// Parses a domain. A leading `*.` is ignored, since rules include subdomains.
    private static func domain(_ text: some StringProtocol) -> String? {
        let bare = text.hasPrefix("*.") ? String(text.dropFirst(2)) : String(text)
        return bare.contains("*") ? nil : WebHost(parsing: bare)?.lookupName
    }
}
