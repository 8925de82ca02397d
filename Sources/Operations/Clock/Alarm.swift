import Dispatch
import Synchronization

/// A wait on a clock, which can be cancelled.
final class Alarm: Sendable {
    private enum State {
        case idle
        case waiting(Task<Void, Never>)
        case over
    }

    private let state = Mutex(State.idle)

    /// Runs `body` on a global queue after `duration`, unless the alarm is cancelled first. An alarm can be set once.
    func set(after duration: Duration, clock: any Clock<Duration>, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard case .idle = state else { return }
            // No other task awaits this one. It ends when the wait ends or the alarm is cancelled.
            let wait = Task.detached {
                do { try await clock.sleep(for: duration) } catch { return }
                // The body may block its thread, which code in a task must not do.
                DispatchQueue.global().async(execute: body)
            }
            state = .waiting(wait)
        }
    }

    /// Ends the wait and releases its body. The body may still be running when this returns.
    func cancel() {
        let wait = state.withLock { state -> Task<Void, Never>? in
            defer { state = .over }
            if case .waiting(let wait) = state { return wait }
            return nil
        }
        wait?.cancel()
    }
}
