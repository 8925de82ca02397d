/// One step on the way to the final address.
public struct Hop: Codable, Sendable, Hashable {
    public var url: String
    /// Nil, with status, address and version, for a step that needed no request.
    public var method: String?
    public var status: Int?
    /// The IP address that answered.
    public var address: String?
    /// The version of HTTP that it spoke: `1.1`, `2`.
    public var version: String?
    /// From the request to the answer's headers, connecting included.
    public var durationMs: Int64
    /// What led on from here; nil for the last one.
    public var via: Via?

    public enum Via: String, Codable, Sendable {
        case location
        case refreshHeader = "refresh_header"
        case metaRefresh = "meta_refresh"
        /// The address held its target.
        case wrapper
        /// The host is known to be reached by https only.
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
