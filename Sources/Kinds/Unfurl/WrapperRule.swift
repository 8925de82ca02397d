/// A redirect page whose target stands in a parameter of its own address, as an administrator names it.
public struct WrapperRule: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let path: String
    let parameter: String

    /// Reads `HOST[/PATH] PARAMETER`, such as `go.example.org/out url`. A host stands for itself and for `www.` before it,
    /// `*.example.org` for everything beneath; a path for all that begin with it.
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

    public var description: String { host + path + " " + parameter }
}
