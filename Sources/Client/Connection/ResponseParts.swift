import NIOCore
import NIOHTTP1

/// Hands what comes in to one reader at a time, as much as came at once, and reads from the socket only while that
/// reader waits.
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

    /// False while there is nothing to tell the reader.
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

    /// Ends the connection; the reader, now or later, is told `error` after what came before it. The first one counts.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
        _ = deliver()
        context?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { batch.append(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        // If no complete part has arrived, read on.
        if !deliver() { context.read() }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }
    func channelInactive(context: ChannelHandlerContext) { fail(ConnectionEnd.closed) }
}

/// Why a connection gave no (whole) answer.
enum ConnectionEnd: Error {
    case closed
    case timedOut
    /// The bytes received are not an HTTP/1.1 response.
    case malformed

    /// Whether the error means that the connection was lost, however the kernel or the decoder reports it.
    static func isLoss(_ error: any Error) -> Bool {
        switch error {
        case ConnectionEnd.timedOut, is CancellationError: false
        default: true
        }
    }
}
