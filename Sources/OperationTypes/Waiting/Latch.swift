import Synchronization

/// An event that happens once, and for which any number of tasks can wait. It has a value.
package final class Latch<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Waiter<Value>] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether the event has happened.
    package var isOpen: Bool { state.withLock { $0.value != nil } }

    /// Reports the event and resumes all waiting tasks. Later calls do nothing.
    package func open(with value: Value) {
        let waiters = state.withLock { state -> [Waiter<Value>] in
            guard state.value == nil else { return [] }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.end(with: value) }
    }

    /// Waits for the event.
    ///
    /// - Returns: Its value; nil if the task was cancelled first.
    @discardableResult
    package func wait() async -> Value? {
        let waiter = enter()
        return await waiter.outcome { state.withLock { $0.waiters.removeAll { $0 === waiter } } }
    }

    /// Waits for the event, even if the task is cancelled.
    @discardableResult
    package func uncancellableWait() async -> Value {
        guard let value = await enter().uncancellableOutcome() else {
            preconditionFailure("only a cancelled wait ends without a value")
        }
        return value
    }

    private func enter() -> Waiter<Value> {
        let waiter = Waiter<Value>()
        let value = state.withLock { state in
            if state.value == nil { state.waiters.append(waiter) }
            return state.value
        }
        if let value { waiter.end(with: value) }
        return waiter
    }
}

extension Latch<Void> {
    package func open() { open(with: ()) }
}
