import Dispatch
import Foundation
import Operations
import Synchronization

#if SANITIZED
    let isSanitized = true
#else
    let isSanitized = false
#endif

struct Failed: Error, Equatable {
    var number = 0
    init(_ number: Int = 0) { self.number = number }
}

/// What happened, in order, on whatever threads.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// Something that a test waits for, sent once for each time it is waited for. Only a broken test waits for ten seconds.
final class Signal: Sendable {
    private struct State {
        var sent = 0
        var waits: [Int: CheckedContinuation<Bool, Never>] = [:]
        var numbers = 0
    }

    private let state = Mutex(State())
    private let blocked = DispatchSemaphore(value: 0)

    func send() {
        let wait = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if let oldest = state.waits.keys.min() { return state.waits.removeValue(forKey: oldest) }
            state.sent += 1
            return nil
        }
        if let wait { wait.resume(returning: true) } else { blocked.signal() }
    }

    /// Blocks this thread.
    func wait() -> Bool {
        guard blocked.wait(timeout: .now() + 10) == .success else { return false }
        state.withLock { $0.sent -= 1 }
        return true
    }

    /// Blocks no thread: those of tasks and of global queues are few.
    func wait() async -> Bool {
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
            DispatchQueue.global().asyncAfter(deadline: .now() + 10) {
                self.state.withLock { $0.waits.removeValue(forKey: number) }?.resume(returning: false)
            }
        }
    }
}

/// Tells when it is gone.
final class Canary: Sendable {
    private let onGone: @Sendable () -> Void
    init(_ onGone: @escaping @Sendable () -> Void) { self.onGone = onGone }
    func touch() {}
    deinit { onGone() }
}

/// Runs `body` on a thread of its own that is neither the main one nor one of the tasks', and returns what it returns.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

/// Resolves nothing until told, from the queue of its own.
let background = DispatchQueue(label: "test.background")

extension Future where Value: Sendable {
    /// Waits for the result without blocking the thread of a task.
    func settled() async -> Result {
        await withCheckedContinuation { continuation in
            materialize().observe(on: Scheduler.immediate).on { continuation.resume(returning: $0) }
        }
    }
}
