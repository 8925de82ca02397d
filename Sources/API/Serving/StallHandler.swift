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

    /// The last answer is written. A peer that still sends, as after a head that is refused, is no longer heard and would
    /// wait for room until the connection is idle.
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
