import NIOCore
import Synchronization

/// The connections that are open, so that a stop reaches them.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosing = false
    }

    private let state = Mutex(State())

    /// A connection that comes after ``quiesce()`` is closed at once.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            state.channels[id] = channel
            return state.isClosing
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.state.withLock { $0.channels[id] = nil }
        }
        if isLate { channel.close(promise: nil) }
    }

    /// Closes connections that carry no request, and the others after their answer.
    func quiesce() {
        let channels = state.withLock { state in
            state.isClosing = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}
