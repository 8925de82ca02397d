import Synchronization

/// Limits how many callers work at the same time. The others wait, in the order of their arrival.
package final class Turns: Sendable {
    private struct State {
        var free: Int
        var waiting: [Waiter<Void>] = []
    }

    private let state: Mutex<State>

    /// Creates a limit for `count` callers.
    package init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn. The caller must end it with ``give()``.
    ///
    /// - Returns: False if the task was cancelled first; then there is no turn to end.
    package func take() async -> Bool {
        if Task.isCancelled { return false }
        let waiter = Waiter<Void>()
        let isFree = state.withLock { state in
            guard state.free > 0 else {
                state.waiting.append(waiter)
                return false
            }
            state.free -= 1
            return true
        }
        if isFree { return true }
        let turn: Void? = await waiter.outcome {
            let isWaiting = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0 === waiter }) else { return false }
                state.waiting.remove(at: index)
                return true
            }
            // Another caller has just given its turn to this one, which therefore has to end it.
            if !isWaiting { waiter.end(with: ()) }
        }
        return turn != nil
    }

    /// Ends the caller's turn, so that the next waiting caller continues.
    package func give() {
        let next = state.withLock { state -> Waiter<Void>? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.end(with: ())
    }
}
