import WebSyntax

/// An HTTP proxy. Every connection goes through it, opened with CONNECT.
///
/// Halyard itself resolves each name and checks its addresses, and gives the proxy an address that passed, never the
/// name: if the proxy resolved the name again, the name's owner could lead it to any other address. For the same
/// reason, plain http also goes through CONNECT.
public struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
    public let host: String
    public let port: UInt16

    /// Parses `http://HOST:PORT`. Returns nil for anything else, including a URL with a user or password; these belong
    /// in a credential.
    public init?(_ text: String) {
        // The parsing error is not needed: text that is not a URL is not a proxy either.
        guard let url = try? WebURL(parsing: text), url.scheme == .http, url.path == "/", url.query == nil,
            url.fragment == nil, !url.hadUserinfo
        else { return nil }
        host = url.host.lookupName
        port = url.port
    }

    public var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension KindFailure {
    /// The failure for a proxy credential that is missing or empty.
    public static func missingProxyCredential(_ name: String) -> KindFailure {
        KindFailure(
            .credentialNotFound,
            "The proxy credential \(name.printable) is missing or empty; the administrator can add it with LoadCredential=."
        )
    }

    static func proxyUnreachable(_ proxy: ProxyServer, for url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed, at: url,
            "could not connect to the proxy \(proxy); check that it is running and reachable from here.",
            isRetryable: true)
    }

    static func proxyRefused(_ url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed, at: url,
            "the proxy did not connect to this server; check that it can reach the server, allows CONNECT to "
                + "port \(url.port) at its address, and accepts the credential in network.proxy_credential.",
            isRetryable: true)
    }

    static func proxyWantsPassword(_ url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed, at: url,
            "the proxy requires a user name and password, or refused the given ones; the administrator must correct network.proxy_credential.",
            status: 407)
    }
}
