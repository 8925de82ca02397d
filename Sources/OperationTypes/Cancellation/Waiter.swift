import Synchronization

/// Lets a task wait for an outcome, and stop waiting when it is cancelled. The first outcome counts; nil means that
/// none will come.
package final class Waiter<Outcome: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Outcome?, Never>)
        case over(Outcome?)
    }

    private let state = Mutex(State.idle)

    package init() {}

    package var isOver: Bool {
        state.withLock { state in
            if case .over = state { true } else { false }
        }
    }

    package func end(with outcome: Outcome?) {
        let continuation = state.withLock { state -> UnsafeContinuation<Outcome?, Never>? in
            switch state {
            case .idle:
                state = .over(outcome)
                return nil
            case .waiting(let continuation):
                state = .over(outcome)
                return continuation
            case .over: return nil
            }
        }
        continuation?.resume(returning: outcome)
    }

    /// Waits for the outcome. When the task is cancelled, `onCancel` runs first and may still supply one.
    @discardableResult
    package func outcome(onCancel: @Sendable () -> Void = {}) async -> Outcome? {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let early = state.withLock { state -> Outcome?? in
                    if case .over(let outcome) = state { return .some(outcome) }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            onCancel()
            end(with: nil)
        }
    }
}
