import Dispatch
import Synchronization

/// Something that a test waits for, sent once for each time it is waited for. Only a broken test waits for a minute: on a
/// busy machine, or under a sanitizer, what is done at once elsewhere may take many seconds.
public final class Signal: Sendable {
    private struct State {
        var sent = 0
        var waits: [Int: CheckedContinuation<Bool, Never>] = [:]
        var numbers = 0
    }

    private let state = Mutex(State())
    private let blocked = DispatchSemaphore(value: 0)

    public init() {}

    public func send() {
        let wait = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if let oldest = state.waits.keys.min() { return state.waits.removeValue(forKey: oldest) }
            state.sent += 1
            return nil
        }
        if let wait { wait.resume(returning: true) } else { blocked.signal() }
    }

    /// Blocks this thread.
    public func wait() -> Bool {
        guard blocked.wait(timeout: .now() + 60) == .success else { return false }
        state.withLock { $0.sent -= 1 }
        return true
    }

    /// Blocks no thread: those of tasks and of global queues are few.
    public func wait() async -> Bool {
        await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if state.sent > 0 {
                    state.sent -= 1
                    return nil
                }
                state.numbers += 1
                state.waits[state.numbers] = continuation
                return state.numbers
            }
            guard let number else {
                blocked.wait()
                return continuation.resume(returning: true)
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
                self.state.withLock { $0.waits.removeValue(forKey: number) }?.resume(returning: false)
            }
        }
    }
}
