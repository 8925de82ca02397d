import NIOCore
import NIOHTTP1
import Synchronization

/// Who listens to the interim answers of which request, from the moment it is handed to the client until it is on the wire.
final class InterimListeners: Sendable {
    /// Names a request on its way through the client; never leaves the process.
    static let header = "halyard-interim"

    private let state = Mutex((last: UInt64(0), waiting: [String: InterimAnswers]()))

    /// - Returns: The value of the header.
    func add(_ listener: InterimAnswers) -> String {
        state.withLock { state in
            state.last += 1
            state.waiting["\(state.last)"] = listener
            return "\(state.last)"
        }
    }

    func take(_ name: String) -> InterimAnswers? { state.withLock { $0.waiting.removeValue(forKey: name) } }
}

/// Hands the heads of answers, which the client reports only when they are final, to who listens.
final class InterimHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// A server may tell its progress by them, but not go on for ever.
    private static let most = 1000

    private let listeners: InterimListeners
    private var listener: InterimAnswers?
    /// Since the last request.
    private var count = 0

    private init(_ listeners: InterimListeners) { self.listeners = listeners }

    /// Puts one between the wire's coding and the client.
    static func add(to channel: any Channel, _ listeners: InterimListeners) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try pipeline.addHandler(InterimHandler(listeners), position: .after(decoder))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        listener = head.headers[InterimListeners.header].first.flatMap(listeners.take)
        count = 0
        head.headers.remove(name: InterimListeners.header)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            count += 1
            if count > Self.most { return context.close(promise: nil) }
            listener?.hear(head)
        }
        context.fireChannelRead(data)
    }
}
