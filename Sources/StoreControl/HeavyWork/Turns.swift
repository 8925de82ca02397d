import Synchronization

/// Limits how many callers work at the same time. The others wait, in the order of their arrival.
package final class Turns: Sendable {
    private struct State {
        var free: Int
        var lastTicket = 0
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state: Mutex<State>

    /// Creates a limit for `count` callers.
    package init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn. The caller must end it with ``give()``.
    ///
    /// - Returns: False if the task was cancelled first; then there is no turn to end.
    package func take() async -> Bool {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    guard state.free > 0 else {
                        state.waiting.append((ticket, continuation))
                        return nil
                    }
                    state.free -= 1
                    return true
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0).continuation }
            }
            waiting?.resume(returning: false)
        }
    }

    /// Ends the caller's turn, so that the next waiting caller continues.
    package func give() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
