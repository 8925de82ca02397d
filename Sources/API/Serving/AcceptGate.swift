import NIOCore
import Synchronization

/// Accepts connections until it is closed, and tracks the ones that no task serves yet.
///
/// When a listener closes, NIO drops the connections that are still being set up. A stop therefore first ends
/// accepting, then waits for these connections, and only then closes the listener.
final class AcceptGate: Sendable {
    private struct State {
        var isClosed = false
        var waiting: Set<ObjectIdentifier> = []
        var onEmpty: (@Sendable () -> Void)?

        mutating func takeOnEmpty() -> (@Sendable () -> Void)? { waiting.isEmpty ? onEmpty.take() : nil }
    }

    private let state = Mutex(State())

    /// Stops accepting connections.
    ///
    /// - Parameter onEmpty: Called once, when every accepted connection is served or gone.
    func close(_ listener: any Channel, onEmpty: @escaping @Sendable () -> Void) {
        state.withLock { $0.isClosed = true }
        // Completes on the listener's loop, which accepts connections, so none is accepted after this.
        listener.setOption(.autoRead, value: false).whenComplete { [self] _ in
            let action = state.withLock { state in
                state.onEmpty = onEmpty
                return state.takeOnEmpty()
            }
            action?()
        }
    }

    /// Records that a task now serves the connection, or that the connection was closed.
    func isServed(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let action = state.withLock { state in
            state.waiting.remove(id)
            return state.takeOnEmpty()
        }
        action?()
    }

    private func isAccepted(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        state.withLock { _ = $0.waiting.insert(id) }
        channel.closeFuture.whenComplete { [weak self] _ in self?.isServed(channel) }
    }

    /// The listener's first handler, which stops reading when the gate is closed.
    final class Handler: ChannelDuplexHandler {
        typealias InboundIn = any Channel
        typealias InboundOut = any Channel
        typealias OutboundIn = Never
        typealias OutboundOut = Never

        private let gate: AcceptGate

        init(_ gate: AcceptGate) { self.gate = gate }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            gate.isAccepted(unwrapInboundIn(data))
            context.fireChannelRead(data)
        }

        func read(context: ChannelHandlerContext) {
            if !gate.state.withLock(\.isClosed) { context.read() }
        }
    }
}
