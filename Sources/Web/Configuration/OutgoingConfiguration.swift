/// The settings of the HTTP client that all kinds share.
public struct OutgoingConfiguration: Sendable {
    /// The permitted addresses and ports. Default: public addresses at the ports 80, 443, 8080 and 8443.
    public var policy = AddressPolicy()
    public var limits = OutgoingLimits()
    /// The limits that apply to each host separately.
    public var host = HostLimits()
    /// The proxy for all connections; nil for direct connections. Proxy settings in environment variables are ignored.
    public var proxy: ProxyServer?
    /// Returns the proxy's `USER:PASSWORD`, or nil if it needs none.
    public var proxySecret: @Sendable () throws(KindFailure) -> String? = { () throws(KindFailure) in nil }
    /// A file of PEM certificates to trust in addition to the system's, for servers whose certificates come from a
    /// private authority.
    public var certificateFile: String?
    /// The version in the user agent `Halyard/VERSION`.
    public var version = "0.1.0"
    /// Text to append to the user agent, for example `(+https://example.org/robots)`.
    public var userAgentSuffix = ""
    /// The maximum number of servers to which idle connections are kept. Each combination of scheme, host, port and
    /// address counts as one server.
    public var maxPooledServers = 64

    public init() {}

    var userAgent: String {
        let suffix = userAgentSuffix.filter { $0.isASCII && !$0.isNewline && $0 != "\0" }
        return "Halyard/\(version)" + (suffix.isEmpty ? "" : " \(suffix)")
    }
}
