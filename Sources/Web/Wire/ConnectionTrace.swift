import Jobs
import NIOHTTP1
import WebSyntax

/// Creates the entries of one request in the attempt's record.
struct TraceStart: Sendable {
    private let log: ConnectionLog?
    private let method: String
    private let origin: String
    private let port: UInt16
    private let proxy: String?
    private let start = ContinuousClock.now
    private let startedAt: Timestamp?

    init(_ method: HTTPMethod, _ url: WebURL, through proxy: ProxyServer?) {
        log = ConnectionLog.current
        startedAt = log?.now()
        self.method = method.rawValue
        // Avoids composing text if there is no record.
        origin = log == nil ? "" : url.origin
        port = url.port
        self.proxy = log == nil ? nil : proxy?.description
    }

    /// Begins the entry for one address. Its start time is that of the request. Returns nil if no record is kept.
    func at(_ address: IPAddress) -> ConnectionTrace? {
        guard let log, let startedAt else { return nil }
        var place = if case .v6 = address { "[\(address)]" } else { address.description }
        place += ":"
        place += String(port)
        let entry = log.begin(method: method, origin: origin, address: place, proxy: proxy, startedAt: startedAt)
        return ConnectionTrace(entry: entry, start: start)
    }
}

/// Adds the progress of one request at one address to the attempt's record.
struct ConnectionTrace: Sendable {
    fileprivate let entry: ConnectionLog.Entry
    fileprivate let start: ContinuousClock.Instant

    private var elapsedMs: Int64 { (ContinuousClock.now - start).milliseconds }

    func connected(isReused: Bool, tls: String?) {
        let elapsed = elapsedMs
        entry.update {
            $0.isReused = isReused
            $0.tls = tls
            $0.connectMs = elapsed
        }
    }

    func sent(_ bytes: Int) { entry.update { $0.sentBytes += Int64(bytes) } }

    func answered(_ head: HTTPResponseHead) {
        let elapsed = elapsedMs
        entry.update {
            $0.status = Int(head.status.code)
            $0.protocolName = head.version == .http1_1 ? "HTTP/1.1" : "\(head.version)"
            $0.firstByteMs = elapsed
            $0.totalMs = elapsed
        }
    }

    func received(_ bytes: Int) {
        let elapsed = elapsedMs
        entry.update {
            $0.receivedBytes += Int64(bytes)
            $0.totalMs = elapsed
        }
    }

    func failed(_ failure: KindFailure) {
        let elapsed = elapsedMs
        entry.update {
            $0.error = failure.code
            $0.totalMs = elapsed
        }
    }
}
