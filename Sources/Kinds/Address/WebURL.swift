/// An `http` or `https` address, parsed and resolved as the WHATWG URL standard says.
///
/// Written by ourselves because the address that is vetted must be the address that is used: Foundation's parser reads
/// RFC 3986 and sees other hosts in the same text. User name and password are parsed and dropped: they are never sent,
/// stored or shown.
public struct WebURL: Hashable, Sendable, CustomStringConvertible {
    public enum Scheme: String, Sendable {
        case http, https
        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    public var scheme: Scheme
    public var host: WebHost
    /// Nil for the scheme's own port.
    public var explicitPort: UInt16?
    /// Begins with `/`.
    public var path: String
    /// Without the `?`.
    public var query: String?
    /// Without the `#`.
    public var fragment: String?
    /// Whether the text named a user or a password.
    public var hadUserinfo: Bool

    /// Servers take no more, and chains of redirects must not grow without end.
    public static let maxBytes = 16 << 10

    public var port: UInt16 { explicitPort ?? scheme.defaultPort }

    public var origin: String {
        var text = scheme.rawValue
        text += "://"
        text += host.description
        if let explicitPort {
            text += ":"
            text += String(explicitPort)
        }
        return text
    }

    public var description: String { fragment.map { withoutFragment + "#" + $0 } ?? withoutFragment }

    public var withoutFragment: String {
        var text = origin
        text.reserveCapacity(text.utf8.count + path.utf8.count + (query.map { $0.utf8.count + 1 } ?? 0))
        text += path
        if let query {
            text += "?"
            text += query
        }
        return text
    }

    /// For messages and logs: a query may hold a signature or a token, so it is not shown.
    public var redacted: String { origin + path + (query == nil ? "" : "?…") }

    /// The value of the `Host` header.
    var hostHeader: String {
        let name = if case .domain = host { host.lookupName } else { "\(host)" }
        return name + (explicitPort.map { ":\($0)" } ?? "")
    }

    /// Path and query for the request line, in the stricter syntax of RFC 3986.
    var requestTarget: String {
        let path = PercentEncoding.strict(path)
        return query.map { path + "?" + PercentEncoding.strict($0) } ?? path
    }
}

/// Why some text is not an address that can be fetched.
public enum WebURLProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    case relative
    case unsupportedScheme(String)
    case badHost
    case badPort
    /// Longer than ``WebURL/maxBytes``, as it is sent.
    case tooLong

    public var description: String {
        switch self {
        case .empty: "the address is empty"
        case .relative: "the address does not begin with http:// or https://"
        case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not http or https"
        case .badHost: "the host is not a name or an address"
        case .badPort: "the port is not a number from 0 to 65535"
        case .tooLong: "the address is longer than \(WebURL.maxBytes) bytes"
        }
    }
}
