import Synchronization

/// An event that happens at most once, and that any number of tasks can wait for. Its value says whether it happened
/// (true) or never will (false).
final class Signal: Sendable {
    private struct State {
        var value: Bool?
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Sets the value and wakes all waiting tasks. Only the first call has an effect.
    func fire(_ value: Bool) {
        let waiters = state.withLock { state in
            if state.value != nil { return [CheckedContinuation<Bool, Never>]() }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    func wait() async -> Bool {
        await withCheckedContinuation { waiter in
            let value = state.withLock { state in
                if state.value == nil { state.waiters.append(waiter) }
                return state.value
            }
            if let value { waiter.resume(returning: value) }
        }
    }
}
