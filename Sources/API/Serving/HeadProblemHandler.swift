import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1
import Synchronization

/// The length of the address in the request line of the next head.
///
/// The HTTP decoder reports a head that is too large without saying whether the address or a field is.
final class AddressWatch: Sendable {
    private struct State {
        var bytes = 0
        var spaces = 0
        var isOver = false
    }

    private let state = Mutex(State())

    /// The bytes of the address that have arrived.
    var bytes: Int { state.withLock(\.bytes) }

    /// The bytes after this belong to the next request.
    fileprivate func reset() { state.withLock { $0 = State() } }

    private func look(at bytes: ByteBufferView) {
        state.withLock { state in
            if state.isOver { return }
            for byte in bytes {
                switch byte {
                case UInt8(ascii: " ") where state.spaces == 0: state.spaces = 1
                case UInt8(ascii: " "), UInt8(ascii: "\n"):
                    state.isOver = true
                    return
                default: state.bytes += state.spaces
                }
            }
        }
    }

    /// Looks at the bytes before the decoder does.
    final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let watch: AddressWatch

        init(_ watch: AddressWatch) { self.watch = watch }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            watch.look(at: unwrapInboundIn(data).readableBytesView)
            context.fireChannelRead(data)
        }
    }
}

/// Answers a head that the HTTP decoder refuses with the reason, and closes the connection. Its place is right after the
/// decoder.
final class HeadProblemHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let watch: AddressWatch
    private let limits: HeadLimits
    /// Requests whose answers have not ended.
    private var open = 0
    private var hasRefused = false

    init(_ watch: AddressWatch, _ limits: HeadLimits) {
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
            ? limits.problem(addressBytes: watch.bytes)
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
        // ``StallHandler`` reads and drops the bytes that the peer still sends, for ``ServerLimits/linger``, so that
        // the peer reads the answer.
        context.channel.close(mode: .output, promise: nil)
    }
}

/// How much of a request may come before its body.
struct HeadLimits: Sendable {
    /// For the address of a request and for each header field.
    let fieldBytes = 16 << 10
    let bytes = 32 << 10
    let fields = 100

    fileprivate func problem(addressBytes: Int) -> ControlProblem {
        addressBytes <= fieldBytes
            ? ControlProblem(
                .headTooLarge,
                "The head of the request is too large; the limits are \(fields) header fields, \(fieldBytes >> 10) KiB for each and \(bytes >> 10) KiB together. Send fewer or shorter fields."
            )
            : ControlProblem(
                .addressTooLong,
                "The address of the request is longer than \(fieldBytes >> 10) KiB. Request less at once, or send it as the body if the verb accepts one."
            )
    }
}
