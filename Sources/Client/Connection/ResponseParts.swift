import NIOCore
import NIOHTTP1

/// Hands the parts of responses to one reader at a time, and reads from the socket only while that reader waits.
final class ResponseParts: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private var buffered: CircularBuffer<HTTPClientResponsePart> = []
    private var reader: CheckedContinuation<HTTPClientResponsePart, any Error>?
    private var failure: (any Error)?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func next(_ continuation: CheckedContinuation<HTTPClientResponsePart, any Error>) {
        precondition(reader == nil, "one reader at a time")
        if let part = buffered.popFirst() {
            continuation.resume(returning: part)
        } else if let failure {
            continuation.resume(throwing: failure)
        } else {
            reader = continuation
            context?.read()
        }
    }

    /// Ends the connection; the reader, now or later, is told `error`. The first one counts.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
        reader.take()?.resume(throwing: error)
        context?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if let reader = reader.take() { reader.resume(returning: part) } else { buffered.append(part) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // What came was not yet a whole part.
        if reader != nil { context.read() }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }
    func channelInactive(context: ChannelHandlerContext) { fail(ConnectionEnd.closed) }
}

/// Why a connection gave no (whole) answer.
enum ConnectionEnd: Error {
    case closed
    case timedOut
}
