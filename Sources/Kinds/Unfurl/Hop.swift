/// One step on the way to the final address.
public struct Hop: Codable, Sendable, Hashable {
    public var url: String
    /// The request's method. Like status, address and version, it is nil for a step that needed no request.
    public var method: String?
    public var status: Int?
    /// The IP address that answered.
    public var address: String?
    /// The version of HTTP: `1.1` or `2`.
    public var version: String?
    /// The time from the request to the answer's headers, including the time to connect.
    public var durationMs: Int64
    /// How the next address was found; nil for the last hop.
    public var via: Via?

    public enum Via: String, Codable, Sendable {
        case location
        case refreshHeader = "refresh_header"
        case metaRefresh = "meta_refresh"
        /// The address contained its target.
        case wrapper
        /// The host is known to require https.
        case strictTransport = "strict_transport"
    }

    enum CodingKeys: String, CodingKey {
        case url, method, status, address, via
        case version = "http_version"
        case durationMs = "duration_ms"
    }

    init(unasked url: WebURL) {
        self.url = url.description
        durationMs = 0
    }
}

extension Duration {
    var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
