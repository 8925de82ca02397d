import NIOCore
import NIOHTTP1

/// Passes the received parts of a response to one reader at a time, all that are available at once. Reads from
/// the socket only while that reader waits.
final class ResponseParts: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias Batch = CircularBuffer<HTTPClientResponsePart>

    private var batch: Batch = []
    private var reader: CheckedContinuation<Batch, any Error>?
    private var failure: (any Error)?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func next(_ continuation: CheckedContinuation<Batch, any Error>) {
        precondition(reader == nil, "one reader at a time")
        reader = continuation
        if !deliver() { context?.read() }
    }

    /// Resumes the waiting reader. Returns false if there is nothing to deliver yet.
    private func deliver() -> Bool {
        guard let waiting = reader else { return true }
        if !batch.isEmpty {
            reader = nil
            waiting.resume(returning: batch)
            batch = []
        } else if let failure {
            reader = nil
            waiting.resume(throwing: failure)
        } else {
            return false
        }
        return true
    }

    /// Ends the connection. The current or next reader gets `error` after the parts that arrived before it.
    /// Only the first error is kept.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
        _ = deliver()
        context?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { batch.append(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        // No complete part has arrived, so read more.
        if !deliver() { context.read() }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }
    func channelInactive(context: ChannelHandlerContext) { fail(ConnectionError.closed) }
}

/// A connection ended before the answer was complete.
enum ConnectionError: Error {
    case closed
    case timedOut
    /// The bytes received are not an HTTP/1.1 response.
    case malformed

    /// Whether the error means that the connection was lost, however the kernel or the decoder reports it.
    static func isLoss(_ error: any Error) -> Bool {
        switch error {
        case ConnectionError.timedOut, is CancellationError: false
        default: true
        }
    }
}
