import Synchronization

/// Holds up whoever passes while it is closed.
final class Barrier: Sendable {
    private struct State {
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.isClosed { state.waiting.append(continuation) }
                return !state.isClosed
            }
            if isOpen { continuation.resume() }
        }
    }

    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        let waiting = state.withLock { state in
            state.isClosed = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
