import Dispatch
import Glibc
import Jobs
import Synchronization

extension DatabaseLock {
    /// Acquires the lock. If a command holds it, waits for the command to end, up to the limit and without polling.
    ///
    /// - Parameter onWait: Called once, before the wait.
    /// - Throws: ``StoreOpenError/locked(path:pid:)``: at once if a daemon holds the lock, otherwise after the limit.
    ///   Trying again later is safe.
    public static func acquire(
        forDatabaseAt path: String, as role: LockHolder.Role, waiting limit: Duration,
        onWait: (LockHolder) -> Void
    ) async throws(StoreOpenError) -> DatabaseLock {
        let refusal: StoreOpenError
        do throws(StoreOpenError) {
            return try acquire(forDatabaseAt: path, as: role)
        } catch {
            guard case .locked = error else { throw error }
            refusal = error
        }
        let holder = try holder(ofDatabaseAt: path)
        if let holder {
            if holder.isLivingDaemon { throw refusal }
            onWait(holder)
        }
        let waiting = Waiting()
        // The kernel wakes this thread when the lock is free. A lock acquired after the limit is released by its
        // deinit.
        try startThread(named: "halyard-lock") {
            do throws(StoreOpenError) {
                waiting.end(.success(try take(forDatabaseAt: path, blocking: true)))
            } catch {
                waiting.end(.failure(error))
            }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit.milliseconds))) {
            waiting.end(.failure(refusal))
        }
        // The role is written only now. Otherwise a lock acquired after the limit would look like a running daemon.
        let lock = try await waiting.outcome().get()
        lock.tell(role)
        return lock
    }

    private final class Waiting: Sendable {
        private struct State {
            var outcome: Result<DatabaseLock, StoreOpenError>?
            var waiter: UnsafeContinuation<Result<DatabaseLock, StoreOpenError>, Never>?
        }

        private let state = Mutex(State())

        /// Sets the outcome. Later calls have no effect.
        func end(_ outcome: Result<DatabaseLock, StoreOpenError>) {
            let waiter = state.withLock { state -> UnsafeContinuation<Result<DatabaseLock, StoreOpenError>, Never>? in
                if state.outcome != nil { return nil }
                state.outcome = outcome
                return state.waiter.take()
            }
            waiter?.resume(returning: outcome)
        }

        func outcome() async -> Result<DatabaseLock, StoreOpenError> {
            await withUnsafeContinuation { waiter in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.waiter = waiter }
                    return state.outcome
                }
                if let outcome { waiter.resume(returning: outcome) }
            }
        }
    }
}
