import Synchronization

/// Holds up whoever passes while it is closed.
final class Barrier: Sendable {
    private struct State {
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watching: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watching) = state.withLock { state in
                guard state.isClosed else { return (true, [CheckedContinuation<Void, Never>]()) }
                state.waiting.append(continuation)
                defer { state.watching = [] }
                return (false, state.watching)
            }
            for watcher in watching { watcher.resume() }
            if isOpen { continuation.resume() }
        }
    }

    /// Returns once somebody is held up.
    func somebodyWaits() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.waiting.isEmpty { state.watching.append(continuation) }
                return !state.waiting.isEmpty
            }
            if isHeld { continuation.resume() }
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
