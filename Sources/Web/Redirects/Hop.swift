import Jobs
import NIOHTTP1
import WebSyntax

/// One step on the way from a link to its final address.
public struct Hop: Codable, Sendable, Hashable {
    /// The address of this step.
    public var url: String
    /// The HTTP method of the request. Method, status, IP address and HTTP version are nil for a step that needed no
    /// request.
    public var method: String?
    /// The HTTP status of the response.
    public var status: Int?
    /// The IP address of the server that responded.
    public var address: String?
    /// The HTTP version of the response: `1.1` or `2`.
    public var version: String?
    /// The time from the request to the response's headers in milliseconds, including the time to connect. It is 0 for
    /// a step that needed no request.
    public var durationMs: Int64
    /// How the next address was found; nil for the last hop.
    public var via: Via?

    /// How a hop leads to the next address.
    public enum Via: String, Codable, Sendable {
        /// A redirect status with a `Location` header.
        case location
        /// A `Refresh` header.
        case refreshHeader = "refresh_header"
        /// A `meta` element with `http-equiv=refresh`.
        case metaRefresh = "meta_refresh"
        /// The address itself contained the next one.
        case wrapper
        /// The host is known to require https, so http was replaced without a request.
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

extension Hop {
    init(_ response: OutgoingResponse, method: HTTPMethod) {
        self.init(unasked: response.url)
        self.method = method.rawValue
        status = response.status
        address = "\(response.address)"
        version = response.version
        durationMs = response.duration.milliseconds
    }
}
