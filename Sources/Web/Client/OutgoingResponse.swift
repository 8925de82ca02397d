import NIOCore
import NIOHTTP1
import WebSyntax

/// A response whose body has not been read yet.
package struct OutgoingResponse: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let url: WebURL
    /// The server's IP address, even if the connection goes through a proxy.
    package let address: IPAddress
    /// The HTTP version, such as `1.1` or `2`.
    package let version: String
    /// The time from the start of the request to the arrival of the response's headers, including the time to connect.
    package let duration: Duration
    private let exchange: Exchange
    private let limits: OutgoingLimits

    init(_ head: HTTPResponseHead, of exchange: Exchange, url: WebURL, duration: Duration, limits: OutgoingLimits) {
        status = Int(head.status.code)
        headers = head.headers
        version =
            switch (head.version.major, head.version.minor) {
            case (1, 1): "1.1"
            case (...1, let minor): "\(head.version.major).\(minor)"
            case (let major, _): "\(major)"
            }
        self.url = url
        address = exchange.connection.address
        self.duration = duration
        self.limits = limits
        self.exchange = exchange
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The wait that the server asks for with `Retry-After`, at most ``OutgoingLimits/retryAfter``. Nil if the header
    /// is missing or invalid, or is a date in the past.
    package var retryAfter: Duration? {
        guard let text = headers["retry-after"].first else { return nil }
        guard let wait = RetryAfter.parse(text, serverDate: headers["date"].first) else { return nil }
        return min(wait, limits.retryAfter)
    }

    /// Passes the body to `use` piece by piece, until the body ends or `use` returns false.
    package func forEachPiece(_ use: (ByteBuffer) async throws(KindFailure) -> Bool) async throws(KindFailure) {
        while true {
            let piece: ByteBuffer?
            do {
                piece = try await exchange.next()
            } catch {
                let failure = Task.isCancelled ? KindFailure.cancelled : KindFailure(error, at: url, limits: limits)
                throw noted(failure)
            }
            if Task.isCancelled { throw noted(.cancelled) }
            do throws(KindFailure) {
                guard let piece, try await use(piece) else { return }
            } catch {
                throw noted(error)
            }
        }
    }

    private func noted(_ failure: KindFailure) -> KindFailure {
        exchange.trace?.failed(failure.reason == .cancelled ? Overrun.cause : failure)
        return failure
    }

    /// Reads and drops up to `limit` bytes, so that the connection can be used again after a short body. If the body is
    /// not complete within `patience`, the connection is closed, since a new connection costs less than a longer wait.
    package func discard(upTo limit: Int = 64 << 10, within patience: Duration = .milliseconds(250)) async {
        let alarm = Alarm.set(after: patience) { [exchange] in
            exchange.cutOff()
            return nil
        }
        defer { alarm.cancel() }
        var left = limit
        // Losing an error is harmless: the bytes are dropped anyway.
        try? await forEachPiece { piece throws(KindFailure) in
            left -= piece.readableBytes
            return left > 0
        }
    }
}
