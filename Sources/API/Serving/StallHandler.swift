import NIOCore

/// Closes a connection whose peer does not read its answers, or stays after the last one.
final class StallHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias InboundOut = NIOAny
    typealias OutboundIn = NIOAny
    typealias OutboundOut = NIOAny

    private let limits: ServerLimits
    private var stall: Scheduled<Void>?
    private var linger: Scheduled<Void>?

    init(limits: ServerLimits) { self.limits = limits }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stall?.cancel()
        stall = context.channel.isWritable ? nil : close(context, after: limits.stall)
        context.fireChannelWritabilityChanged()
    }

    /// Limits how long the peer may stay after the last answer. The server no longer reads from the peer, for
    /// example after a refused head. Without this limit, a peer that still sends would block until the idle
    /// timeout.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output, linger == nil { linger = close(context, after: limits.linger) }
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stall?.cancel()
        linger?.cancel()
        context.fireChannelInactive()
    }

    private func close(_ context: ChannelHandlerContext, after limit: Duration) -> Scheduled<Void> {
        let channel = context.channel
        return context.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
    }
}
