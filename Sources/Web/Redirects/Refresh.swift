import WebSyntax

/// Parses a `Refresh` header or meta element such as `0; url=…`, as the HTML standard specifies.
package enum Refresh {
    /// The longest delay, in seconds, that counts as a redirect. A longer delay means that the page reloads itself.
    static let maxSeconds = 5

    package static func target(in text: String, base: WebURL) -> WebURL? {
        var rest = Substring(text).drop { $0.isWhitespace }
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty || rest.first == ".", let seconds = digits.isEmpty ? 0 : Int(digits),
            seconds <= maxSeconds
        else {
            return nil
        }
        rest = rest.dropFirst(digits.count).drop { $0.isASCII && $0.isNumber || $0 == "." }
        guard let separator = rest.first, separator == ";" || separator == "," || separator.isWhitespace else {
            return nil
        }
        rest = rest.drop { $0.isWhitespace }
        if rest.first == ";" || rest.first == "," { rest = rest.dropFirst() }
        rest = rest.drop { $0.isWhitespace }
        if rest.prefix(3).lowercased() == "url" {
            let after = rest.dropFirst(3).drop { $0.isWhitespace }
            if after.first == "=" { rest = after.dropFirst().drop { $0.isWhitespace } }
        }
        if let quote = rest.first, quote == "\"" || quote == "'" {
            rest = rest.dropFirst()
            rest = rest[..<(rest.firstIndex(of: quote) ?? rest.endIndex)]
        }
        guard !rest.isEmpty else { return nil }
        // An invalid address is not a redirect.
        guard var url = try? WebURL(parsing: String(rest), base: base) else { return nil }
        if url.fragment == nil { url.fragment = base.fragment }
        return url
    }
}
