import Synchronization

/// Lets a task wait for an outcome, and stop waiting when the task is cancelled. The first outcome counts. Nil means
/// that there will be none.
///
/// SAFETY: The variables are accessed only under the lock; `early` also after the wait has seen `isEnded`.
@usableFromInline
package final class Waiter<Outcome: Sendable>: @unchecked Sendable {
    // The lock holds no value: destroying a Mutex of a generic type would take longer than everything else a wait does.
    @usableFromInline let lock: Mutex<Void>
    @exclusivity(unchecked) @usableFromInline var isEnded: Bool
    /// The suspended task; nil before it is suspended and after it is resumed.
    @exclusivity(unchecked) @usableFromInline var continuation: UnsafeContinuation<Outcome?, Never>?
    /// An outcome that was supplied before the task was suspended.
    @exclusivity(unchecked) @usableFromInline var early: Outcome?

    @inlinable
    package init() {
        lock = Mutex(())
        isEnded = false
        continuation = nil
        early = nil
    }

    /// Whether the wait is over: there is an outcome, or there will be none.
    package var isOver: Bool { lock.withLock { _ in isEnded } }

    /// Supplies the outcome and resumes the task. Later calls do nothing.
    @inlinable
    package func end(with outcome: Outcome?) {
        let waiting = lock.withLock { _ -> UnsafeContinuation<Outcome?, Never>? in
            guard !isEnded else { return nil }
            isEnded = true
            if continuation == nil { early = outcome }
            return continuation.take()
        }
        waiting?.resume(returning: outcome)
    }

    /// Waits for the outcome. If the task is cancelled, `onCancel` runs first and may still supply an outcome.
    @inlinable
    @discardableResult
    package func outcome(onCancel: @Sendable () -> Void = {}) async -> Outcome? {
        await withTaskCancellationHandler {
            await uncancellableOutcome()
        } onCancel: {
            onCancel()
            end(with: nil)
        }
    }

    /// Waits for the outcome, even if the task is cancelled.
    @inlinable
    package func uncancellableOutcome() async -> Outcome? {
        await withUnsafeContinuation { continuation in
            let isOver = lock.withLock { _ in
                if !isEnded { self.continuation = continuation }
                return isEnded
            }
            if isOver { continuation.resume(returning: early) }
        }
    }
}
