import Dispatch
import Synchronization

/// One wait on a clock, which can be given up.
final class Alarm: Sendable {
    private enum State {
        case idle
        case waiting(Task<Void, Never>)
        case over
    }

    private let state = Mutex(State.idle)

    /// Runs `body` on a global queue once `duration` has passed, unless the alarm is cancelled first. Once for each alarm.
    func set(after duration: Duration, clock: any Clock<Duration>, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard case .idle = state else { return }
            // Awaited by nobody: it ends with the wait, and cancelling the alarm ends the wait.
            let wait = Task.detached {
                do { try await clock.sleep(for: duration) } catch { return }
                // The body may block its thread, which those of tasks must not.
                DispatchQueue.global().async(execute: body)
            }
            state = .waiting(wait)
        }
    }

    /// Gives up the wait and releases its body. The body may be running when this returns.
    func cancel() {
        let wait = state.withLock { state -> Task<Void, Never>? in
            defer { state = .over }
            if case .waiting(let wait) = state { return wait }
            return nil
        }
        wait?.cancel()
    }
}
