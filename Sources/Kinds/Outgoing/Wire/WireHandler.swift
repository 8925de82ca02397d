import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// Who wants to hear what the client does not tell of a request.
struct WireListener: Sendable {
    var interim: InterimAnswers?
    var trace: ConnectionTrace?
}

/// Who listens to which request, from the moment it is handed to the client until it is on the wire.
final class WireListeners: Sendable {
    /// Names a request on its way through the client; never leaves the process.
    static let header = "halyard-wire"

    private let state = Mutex((last: UInt64(0), waiting: [String: WireListener]()))

    /// - Returns: The value of the header.
    func add(_ listener: WireListener) -> String {
        state.withLock { state in
            state.last += 1
            state.waiting["\(state.last)"] = listener
            return "\(state.last)"
        }
    }

    func take(_ name: String) -> WireListener? { state.withLock { $0.waiting.removeValue(forKey: name) } }
}

/// Reports what passes to the request's listener, and keeps answers from the client that it cannot handle
/// (``AnswerOrder``).
///
/// The client itself reports only the head of the final answer.
final class WireHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let listeners: WireListeners
    private let tls: String?
    private var listener: WireListener?
    private var isReused = false
    private var order = AnswerOrder()

    private init(_ listeners: WireListeners, tls: String?) {
        self.listeners = listeners
        self.tls = tls
    }

    /// Puts one between the wire's coding and the client.
    static func add(to channel: any Channel, _ listeners: WireListeners) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        // Without TLS there is no such handler.
        let version = try? pipeline.nioSSL_tlsVersion()
        let tls: String? =
            switch version {
            case .tlsv13: "1.3"
            case .tlsv12: "1.2"
            // Older ones are not spoken.
            case .tlsv11, .tlsv1, nil: nil
            }
        try pipeline.addHandler(WireHandler(listeners, tls: tls), position: .after(decoder))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            listener = head.headers[WireListeners.header].first.flatMap(listeners.take)
            listener?.trace?.connected(isReused: isReused, tls: tls)
            isReused = true
            order.requestSent()
            head.headers.remove(name: WireListeners.header)
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body(let bytes):
            listener?.trace?.sent(bytes.readableBytes)
            context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        switch order.judge(part) {
        case .pass: break
        case .drop: return
        case .refuse(let problem):
            // The client fails the request that is under way, or drops the connection from its pool.
            context.fireErrorCaught(problem)
            return context.close(promise: nil)
        }
        switch part {
        case .head(let head):
            listener?.interim?.hear(head)
            if head.status.code >= 200 { listener?.trace?.answered(head) }
        case .body(let bytes): listener?.trace?.received(bytes.readableBytes)
        case .end: break
        }
        context.fireChannelRead(data)
    }
}
