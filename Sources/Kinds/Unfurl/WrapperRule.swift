import WebSyntax

/// An administrator's rule for redirect pages that carry their target in a query parameter of their own address.
public struct WrapperRule: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let path: String
    let parameter: String

    /// Parses `HOST[/PATH] PARAMETER`, such as `go.example.org/out url`; returns nil if the text is invalid.
    ///
    /// A host also matches with `www.` before it, and `*.example.org` matches all subdomains. A path matches every path
    /// that begins with it.
    public init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let place = words.first, let parameter = words.last else { return nil }
        let name = place.prefix { $0 != "/" }
        let bare = name.hasPrefix("*.") ? name.dropFirst(2) : name
        guard case .domain(let domain)? = WebHost(parsing: String(bare)), domain.contains(".") else { return nil }
        host = name.hasPrefix("*.") ? "*." + domain : domain
        path = name.count == place.count ? "/" : String(place.dropFirst(name.count))
        self.parameter = String(parameter)
    }

    /// The rule in the form that ``init(_:)`` parses.
    public var description: String { host + path + " " + parameter }
}
