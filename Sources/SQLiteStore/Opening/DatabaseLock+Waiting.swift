import Dispatch
import Glibc
import Jobs
import OperationTypes

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
        let waiter = Waiter<Result<DatabaseLock, StoreOpenError>>()
        // The kernel wakes this thread when the lock is free. A lock acquired after the limit is released by its
        // deinit.
        try startThread(named: "halyard-lock") {
            do throws(StoreOpenError) {
                waiter.end(with: .success(try take(forDatabaseAt: path, blocking: true)))
            } catch {
                waiter.end(with: .failure(error))
            }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit.milliseconds))) {
            waiter.end(with: .failure(refusal))
        }
        // The role is written only now. Otherwise a lock acquired after the limit would look like a running daemon.
        let lock = try await (waiter.uncancellableOutcome() ?? .failure(refusal)).get()
        lock.tell(role)
        return lock
    }
}
