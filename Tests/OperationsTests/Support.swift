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

/// A log of events, in order, from any thread.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// An object that reports its release.
final class Canary: Sendable {
    private let onGone: @Sendable () -> Void
    init(_ onGone: @escaping @Sendable () -> Void) { self.onGone = onGone }
    func touch() {}
    deinit { onGone() }
}

/// Runs `body` on a new thread, not the main thread or a task's, and returns its result.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

/// A queue on which tests resolve promises away from the main thread.
let background = DispatchQueue(label: "test.background")

extension Future where Value: Sendable {
    /// Waits for the result without blocking the thread of a task.
    func settled() async -> Result {
        await withCheckedContinuation { continuation in
            materialize().observe(on: Scheduler.immediate).on { continuation.resume(returning: $0) }
        }
    }
}
