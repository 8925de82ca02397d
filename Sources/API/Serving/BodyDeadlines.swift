import NIOCore
import Synchronization

/// Ends bodies that miss their deadline. One timer serves all bodies: most arrive complete at once, and a timer for
/// each would cost more than reading it.
final class BodyDeadlines: Sendable {
    private struct Entry {
        let channel: any Channel
        let end: NIODeadline
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
        var isTimed = false
        var expired: Set<Int> = []
    }

    private let state = Mutex(State())
    private let limit: TimeAmount

    init(_ limit: Duration) { self.limit = TimeAmount(limit) }

    /// Starts the time limit of a body. If it expires before ``end(_:)``, nothing more is read from the
    /// connection.
    func begin(_ channel: any Channel) -> Int {
        let (id, starts) = state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(channel: channel, end: .now() + limit)
            defer { state.isTimed = true }
            return (state.last, !state.isTimed)
        }
        if starts { wake(at: .now() + limit, on: channel.eventLoop) }
        return id
    }

    /// - Returns: Whether the time limit had expired.
    func end(_ id: Int) -> Bool {
        state.withLock { state in
            state.entries[id] = nil
            return state.expired.remove(id) != nil
        }
    }

    private func wake(at time: NIODeadline, on loop: any EventLoop) {
        loop.scheduleTask(deadline: time) { [weak self] in self?.expire() }
    }

    private func expire() {
        let now = NIODeadline.now()
        let (late, next) = state.withLock { state in
            let late = state.entries.filter { $1.end <= now }
            for id in late.keys {
                state.entries[id] = nil
                state.expired.insert(id)
            }
            let next = state.entries.values.min { $0.end < $1.end }
            state.isTimed = next != nil
            return (late.values.map(\.channel), next)
        }
        for channel in late { channel.close(mode: .input, promise: nil) }
        if let next { wake(at: next.end, on: next.channel.eventLoop) }
    }
}
