import NIOCore
import Synchronization

/// The connections that are open, so that a stop reaches them and no user takes all of them.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var ofUser: [UInt32: Int] = [:]
        /// The open ones that have carried a request.
        var used: Set<ObjectIdentifier> = []
        var isClosing = false
    }

    private let state = Mutex(State())
    private let limits: ServerLimits

    init(_ limits: ServerLimits) { self.limits = limits }

    /// A connection that comes after ``quiesce()`` is closed after its request.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            state.channels[id] = channel
            return state.isClosing
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.state.withLock { state in
                state.channels[id] = nil
                state.used.remove(id)
            }
        }
        if isLate { quiesce(channel, after: limits.firstArrival) }
    }

    /// The connection carries a request.
    func isUsed(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        // One that is closed already would stay here for ever.
        state.withLock { if $0.channels[id] != nil { $0.used.insert(id) } }
    }

    /// Counts a connection for its user until it is closed.
    ///
    /// - Returns: False, and does not count it, when the user has as many already.
    func count(_ channel: any Channel, for user: UInt32, atMost limit: Int) -> Bool {
        let isCounted = state.withLock { state in
            guard state.ofUser[user, default: 0] < limit else { return false }
            state.ofUser[user, default: 0] += 1
            return true
        }
        guard isCounted else { return false }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.state.withLock { state in
                let rest = state.ofUser[user, default: 1] - 1
                state.ofUser[user] = rest > 0 ? rest : nil
            }
        }
        return true
    }

    /// Closes connections that carry no request, and the others after their answer.
    func quiesce() {
        let channels = state.withLock { state in
            state.isClosing = true
            return state.channels.map { ($1, state.used.contains($0) ? limits.arrival : limits.firstArrival) }
        }
        for (channel, arrival) in channels { quiesce(channel, after: arrival) }
    }

    private func quiesce(_ channel: any Channel, after arrival: Duration) {
        channel.eventLoop.scheduleTask(in: TimeAmount(arrival)) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}
