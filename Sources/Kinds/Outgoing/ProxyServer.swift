/// An HTTP proxy that every connection goes through, by CONNECT.
///
/// Names are still resolved and judged here, and the proxy is told the address that passed, never a name: one that resolved
/// names itself could be led anywhere by whoever owns them. For the same reason plain http goes by CONNECT too.
public struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
    public let host: String
    public let port: UInt16

    /// Reads `http://HOST:PORT`. Nil for anything else, a user and password among it: they stand in a credential.
    public init?(_ text: String) {
        // What is no address is no proxy either.
        guard let url = try? WebURL(parsing: text), url.scheme == .http, url.path == "/", url.query == nil,
            url.fragment == nil, !url.hadUserinfo
        else { return nil }
        host = url.host.lookupName
        port = url.port
    }

    public var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension KindFailure {
    /// The proxy's own credential is not there.
    public static func missingProxyCredential(_ name: String) -> KindFailure {
        KindFailure(
            .credentialNotFound,
            "The proxy's credential \(name.printable) is not there or empty; the administrator can add it with LoadCredential=."
        )
    }

    static func proxyUnreachable(_ proxy: ProxyServer, for url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed,
            "\(url.redacted): no connection to the proxy \(proxy); check that it runs and is reachable from here.",
            isRetryable: true, url: url)
    }

    static func proxyRefused(_ url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed,
            "\(url.redacted): the proxy does not connect to this server; it must reach it, allow CONNECT to its address and "
                + "port \(url.port), and take what network.proxy_credential holds.", isRetryable: true, url: url)
    }

    static func proxyWantsPassword(_ url: WebURL) -> KindFailure {
        KindFailure(
            .proxyFailed,
            "\(url.redacted): the proxy wants a user and password, or others; the administrator sets network.proxy_credential.",
            status: 407, url: url)
    }
}
