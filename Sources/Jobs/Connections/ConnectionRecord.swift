/// One request that an attempt sent: where it went, over what, and how long it took.
///
/// A field that is not known is nil. Times count from `startedAt`, on the monotonic clock, in whole milliseconds. With
/// neither a status nor a failure, it had no answer yet when the attempt ended.
public struct ConnectionRecord: Hashable, Sendable {
    /// From 1, in the order in which they were begun. Where numbers are missing, entries were left out.
    public var number = 0
    public var method: String
    /// `https://host`, with the port where it is not the scheme's own. Never a path, a query or a user: they may be secret.
    public var origin: String
    /// IP address and port: what was connected to, or what the proxy was told to connect to.
    public var address: String
    /// `http://host:port`, without user and password.
    public var proxy: String?
    public var startedAt: Timestamp
    /// Whether the connection had served another request before.
    public var isReused: Bool?
    /// `1.2`, `1.3`.
    public var tls: String?
    /// Of the answer: `HTTP/1.1`.
    public var protocolName: String?
    /// To the moment at which the request was written: name resolution not included, TLS and the proxy's tunnel included.
    public var connectMs: Int64?
    /// To the head of the answer; those before the answer (1xx) do not count.
    public var firstByteMs: Int64?
    /// To the last byte of the answer that came, or to the failure.
    public var totalMs: Int64?
    /// Of the bodies, as handed to the connection and taken from it.
    public var sentBytes: Int64 = 0
    public var receivedBytes: Int64 = 0
    public var status: Int?
    /// A code of the kind: why there is no answer, or not the whole of it.
    public var failure: String?

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
    /// Nil where a required field is missing; a field that is not known is not looked at.
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
        failure = object["failure"]?.decodedString
    }

    /// What ``AttemptRecord/connections`` holds; nothing for nil.
    public static func list(in array: JSONText?) -> [ConnectionRecord] {
        array?.elements?.compactMap(ConnectionRecord.init(json:)) ?? []
    }

    public var json: JSONText { JSONWriter.text { write(to: &$0) } }

    /// The runner's only loop writes them, so no text is made of each field.
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
            $0.field("failure", failure)
        }
    }
}
