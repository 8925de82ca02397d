/// One request that an attempt sent: its destination, its connection and its duration.
///
/// Unknown fields are nil. Durations are measured from `startedAt` on the monotonic clock, in whole milliseconds. A
/// record with neither a status nor an error was still waiting for its response when the attempt ended.
public struct ConnectionRecord: Hashable, Sendable {
    /// The number of the request within the attempt, from 1, in the order in which requests began. Numbers are missing
    /// where entries were dropped.
    public var number = 0
    /// The HTTP method.
    public var method: String
    /// The origin, `https://host`, with the port unless it is the default of the scheme. It never contains a path, a
    /// query or a user, which may be secret.
    public var origin: String
    /// The IP address and port of the server, even if the connection goes through a proxy.
    public var address: String
    /// The proxy, as `http://host:port`, without user and password. Nil if none was used.
    public var proxy: String?
    /// When the request began, by the wall clock.
    public var startedAt: Timestamp
    /// Whether the connection had already served another request.
    public var isReused: Bool?
    /// The TLS version: `1.2` or `1.3`.
    public var tls: String?
    /// The HTTP version of the response, such as `HTTP/1.1`.
    public var protocolName: String?
    /// The time until the request was written. It includes TLS and the proxy's tunnel, but not name resolution.
    public var connectMs: Int64?
    /// The time until the head of the response arrived. Informational responses (1xx) do not count.
    public var firstByteMs: Int64?
    /// The time until the last byte of the response arrived, or until the error.
    public var totalMs: Int64?
    /// The size of the request's body, as passed to the connection.
    public var sentBytes: Int64 = 0
    /// The size of the response's body, as received from the connection.
    public var receivedBytes: Int64 = 0
    /// The HTTP status of the response.
    public var status: Int?
    /// A failure code of the kind: why there is no response, or only a part of it.
    public var error: String?

    /// Creates the record of a request that has just begun.
    public init(
        method: String, origin: String, address: String, proxy: String? = nil, startedAt: Timestamp
    ) {
        self.method = method
        self.origin = origin
        self.address = address
        self.proxy = proxy
        self.startedAt = startedAt
    }
}

// MARK: JSON

extension ConnectionRecord {
    /// Parses a stored record. Returns nil if a required field is missing; unknown fields are ignored.
    public init?(json: JSONText) {
        guard let object = JSONObject(json), let number = object["number"]?.integer,
            let method = object["method"]?.decodedString, let origin = object["origin"]?.decodedString,
            let address = object["address"]?.decodedString,
            let startedAt = object["started_at"]?.decodedString.flatMap(Timestamp.init(iso8601:))
        else { return nil }
        self.init(
            method: method, origin: origin, address: address, proxy: object["proxy"]?.decodedString,
            startedAt: startedAt)
        self.number = Int(clamping: number)
        isReused = object["reused"]?.boolean
        tls = object["tls"]?.decodedString
        protocolName = object["protocol"]?.decodedString
        connectMs = object["connect_ms"]?.integer
        firstByteMs = object["first_byte_ms"]?.integer
        totalMs = object["total_ms"]?.integer
        sentBytes = object["sent_bytes"]?.integer ?? 0
        receivedBytes = object["received_bytes"]?.integer ?? 0
        status = object["status"]?.integer.map(Int.init(clamping:))
        error = object["error"]?.decodedString
    }

    /// Parses ``AttemptRecord/connections``. Invalid records are skipped; nil gives an empty list.
    public static func list(in array: JSONText?) -> [ConnectionRecord] {
        array?.elements?.compactMap(ConnectionRecord.init(json:)) ?? []
    }

    /// The record as a JSON object, without the unknown fields.
    public var json: JSONText { JSONWriter.text { write(to: &$0) } }

    /// Writes the fields directly. The runner's single loop calls this, and creating a text for each field would slow
    /// it down.
    func write(to writer: inout JSONWriter) {
        writer.object {
            $0.field("number", Int64(number))
            $0.field("method", method)
            $0.field("origin", origin)
            $0.field("address", address)
            $0.field("proxy", proxy)
            $0.field("protocol", protocolName)
            $0.field("tls", tls)
            $0.field("reused", isReused)
            $0.field("started_at", startedAt.iso8601)
            $0.field("connect_ms", connectMs)
            $0.field("first_byte_ms", firstByteMs)
            $0.field("total_ms", totalMs)
            $0.field("sent_bytes", sentBytes)
            $0.field("received_bytes", receivedBytes)
            $0.field("status", status.map(Int64.init))
            $0.field("error", error)
        }
    }
}
