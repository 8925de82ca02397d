/// An `http` or `https` URL, parsed and resolved as the WHATWG URL standard specifies.
///
/// Halyard has its own parser, because the host that is vetted must be the host that is contacted: Foundation's parser
/// follows RFC 3986 and can find a different host in the same text. A user name and a password are parsed and dropped:
/// they are never sent, stored or shown.
public struct WebURL: Hashable, Sendable, CustomStringConvertible {
    public enum Scheme: String, Sendable {
        case http, https
        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    public var scheme: Scheme
    public var host: WebHost
    /// The port; nil if it is the scheme's default port.
    public var explicitPort: UInt16?
    /// The path, which begins with `/`.
    public var path: String
    /// The query without the `?`; nil if there is none.
    public var query: String?
    /// The fragment without the `#`; nil if there is none.
    public var fragment: String?
    /// Whether the text contained a user name or a password.
    public var hadUserinfo: Bool

    /// The maximum length of a URL, in bytes. Servers do not accept longer URLs, and a chain of redirects must not let
    /// the URL grow without end.
    public static let maxBytes = 16 << 10

    /// The port to connect to: ``explicitPort`` or the scheme's default port.
    public var port: UInt16 { explicitPort ?? scheme.defaultPort }

    /// The scheme, the host and, if it is not the default, the port, such as `https://example.org:8080`.
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

    /// The URL for messages and logs: the query is shown as `?…`, since it may contain a signature or a token, and the
    /// fragment is left out.
    public var redacted: String { origin + path + (query == nil ? "" : "?…") }

    /// The value of the `Host` header.
    package var hostHeader: String {
        let name = if case .domain = host { host.lookupName } else { "\(host)" }
        return name + (explicitPort.map { ":\($0)" } ?? "")
    }

    /// The path and the query for the request line, in the stricter syntax of RFC 3986.
    package var requestTarget: String {
        let path = PercentEncoding.strict(path)
        return query.map { path + "?" + PercentEncoding.strict($0) } ?? path
    }
}

/// The reason why a text is not an http or https URL.
public enum WebURLProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    case relative
    case unsupportedScheme(String)
    case badHost
    case badPort
    /// The URL is longer than ``WebURL/maxBytes`` after encoding.
    case tooLong

    public var description: String {
        switch self {
        case .empty: "the address is empty"
        case .relative: "the address does not begin with http:// or https://"
        case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not http or https"
        case .badHost: "the host is not a valid name or IP address"
        case .badPort: "the port is not a number from 0 to 65535"
        case .tooLong: "the address is longer than \(WebURL.maxBytes) bytes"
        }
    }
}
