import Control
import Jobs
import NIOCore
import NIOHTTP1
import Synchronization

/// Whether the request line of the next head has arrived.
///
/// The HTTP decoder reports a head that is too large without saying whether the request line or a field is.
final class RequestLineWatch: Sendable {
    private let hasArrived = Atomic(false)

    var isComplete: Bool { hasArrived.load(ordering: .relaxed) }

    /// The bytes after this belong to the next request.
    fileprivate func reset() { hasArrived.store(false, ordering: .relaxed) }

    /// Looks at the bytes before the decoder does.
    final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let watch: RequestLineWatch

        init(_ watch: RequestLineWatch) { self.watch = watch }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if !watch.isComplete, unwrapInboundIn(data).readableBytesView.contains(UInt8(ascii: "\n")) {
                watch.hasArrived.store(true, ordering: .relaxed)
            }
            context.fireChannelRead(data)
        }
    }
}

/// Answers a head that the HTTP decoder refuses, in place of an answer without a reason, and ends the connection. Stands
/// right after the decoder.
final class HeadProblemHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let watch: RequestLineWatch
    private let limits: HeadLimits
    /// Requests whose answers have not ended.
    private var open = 0
    private var hasRefused = false

    init(_ watch: RequestLineWatch, _ limits: HeadLimits) {
        self.watch = watch
        self.limits = limits
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: open += 1
        case .end: watch.reset()
        case .body: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { open -= 1 }
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The decoder reports the bytes that follow as errors.
        if hasRefused { return }
        // An answer in the middle of another one would be read as part of it.
        guard let error = error as? HTTPParserError, open == 0 else { return context.fireErrorCaught(error) }
        hasRefused = true
        let problem =
            error == .headerOverflow
            ? limits.problem(isLineComplete: watch.isComplete)
            : ControlProblem(.invalidRequest, "The request is not HTTP/1.1. Use an HTTP client such as curl.")
        let body = problem.json.bytes + [UInt8(ascii: "\n")]
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: problem.status),
            headers: [
                "Content-Type": "application/problem+json", "Content-Length": "\(body.count)", "Connection": "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // Through ``StallHandler``: the bytes that the peer still sends are read and dropped for
        // ``ServerLimits/linger``, so that it reads the answer.
        context.channel.close(mode: .output, promise: nil)
    }
}

/// How much of a request may come before its body.
struct HeadLimits: Sendable {
    /// For the address of a request and for each header field.
    let fieldBytes = 16 << 10
    let bytes = 32 << 10
    let fields = 100

    fileprivate func problem(isLineComplete: Bool) -> ControlProblem {
        isLineComplete
            ? ControlProblem(
                .headTooLarge,
                "The head of the request is too large: at most \(fields) header fields, \(fieldBytes >> 10) KiB each and \(bytes >> 10) KiB together. Send fewer, or shorter ones."
            )
            : ControlProblem(
                .addressTooLong,
                "The address of the request has more than \(fieldBytes >> 10) KiB. Ask for less at once, or send it as the body where the verb takes one."
            )
    }
}
