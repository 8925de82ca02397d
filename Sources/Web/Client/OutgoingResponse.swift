import NIOCore
import NIOHTTP1
import WebSyntax

/// The facts of a response that arrive before its body.
package struct ResponseHead: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let url: WebURL
    /// The server's IP address, even if the connection goes through a proxy.
    package let address: IPAddress
    /// The HTTP version, such as `1.1` or `2`.
    package var version = "1.1"
    /// The time from the start of the request to the arrival of the response's headers, including the time to connect.
    package var duration = Duration.zero
    /// The wait that the server requests with `Retry-After`, at most ``OutgoingLimits/retryAfter``. Nil if the header
    /// is missing or invalid, or is a date in the past.
    package let retryAfter: Duration?

    package init(
        status: Int, headers: HTTPHeaders, url: WebURL, address: IPAddress, limits: OutgoingLimits = OutgoingLimits()
    ) {
        (self.status, self.headers, self.url, self.address) = (status, headers, url, address)
        retryAfter = headers["retry-after"].first.flatMap { RetryAfter.parse($0, serverDate: headers["date"].first) }
            .map { min($0, limits.retryAfter) }
    }

    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// A response whose body has not been read yet.
@dynamicMemberLookup package struct OutgoingResponse: Sendable {
    package let head: ResponseHead
    private let exchange: Exchange
    private let limits: OutgoingLimits

    init(_ head: HTTPResponseHead, of exchange: Exchange, url: WebURL, duration: Duration, limits: OutgoingLimits) {
        var known = ResponseHead(
            status: Int(head.status.code), headers: head.headers, url: url, address: exchange.connection.address,
            limits: limits)
        known.version =
            switch (head.version.major, head.version.minor) {
            case (1, 1): "1.1"
            case (...1, let minor): "\(head.version.major).\(minor)"
            case (let major, _): "\(major)"
            }
        known.duration = duration
        self.head = known
        self.limits = limits
        self.exchange = exchange
    }

    package subscript<Value>(dynamicMember fact: KeyPath<ResponseHead, Value>) -> Value { head[keyPath: fact] }

    /// Passes the body to `use` piece by piece, until the body ends or `use` returns false.
    package func forEachPiece(_ use: (ByteBuffer) async throws(KindFailure) -> Bool) async throws(KindFailure) {
        while true {
            let piece: ByteBuffer?
            do {
                piece = try await exchange.next()
            } catch {
                let failure =
                    Task.isCancelled ? KindFailure.cancelled : KindFailure(error, at: head.url, limits: limits)
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
