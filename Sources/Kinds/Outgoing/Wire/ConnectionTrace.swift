import Jobs
import NIOHTTP1

/// Tells the attempt's record what becomes of one request.
struct ConnectionTrace: Sendable {
    private let entry: ConnectionLog.Entry
    private let start = ContinuousClock.now

    /// Nil where nobody keeps a record.
    init?(_ request: OutgoingRequest, at address: IPAddress, through proxy: ProxyServer?) {
        guard let log = ConnectionLog.current else { return nil }
        let place = if case .v6 = address { "[\(address)]" } else { "\(address)" }
        entry = log.begin(
            method: request.method.rawValue, origin: request.url.origin, address: "\(place):\(request.url.port)",
            proxy: proxy?.description)
    }

    private var elapsedMs: Int64 { (ContinuousClock.now - start).wholeMilliseconds }

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
            $0.protocolName = "\(head.version)"
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
            $0.failure = failure.code
            $0.totalMs = elapsed
        }
    }
}
