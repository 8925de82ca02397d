import Synchronization

/// Limits how many callers work at the same time. The others wait, in the order of their arrival.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [Waiter<Void>] = []
    }

    private let state: Mutex<State>

    /// - Parameter count: How many callers may work at the same time.
    package init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a permit. The caller must return it with ``signal()``.
    ///
    /// - Returns: False if the task was cancelled first; then there is no permit to return.
    package func wait() async -> Bool {
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
        let permit: Void? = await waiter.outcome {
            let isWaiting = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0 === waiter }) else { return false }
                state.waiting.remove(at: index)
                return true
            }
            // Another caller has just passed its permit to this one, which therefore has to return it.
            if !isWaiting { waiter.end(with: ()) }
        }
        return permit != nil
    }

    /// Returns the caller's permit, so that the next waiting caller continues.
    package func signal() {
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
