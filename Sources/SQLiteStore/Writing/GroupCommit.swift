import Jobs
import SQLite
import Synchronization

/// Runs the writes of all callers on one thread; those that wait together share one transaction and one sync, up to
/// ``maxJobs``.
///
/// Invariants:
/// - G1: a caller hears of success only after COMMIT returned success.
/// - G2: a write that fails leaves no trace and does not touch the others: the transaction is rolled back and each write
///   runs again by itself.
/// - G3: after a COMMIT or a checkpoint that failed for another reason than a full disk or a lock, nothing is written any
///   more: what the disk holds is unknown.
/// - G4: observers hear of each commit once, in order, before its callers go on; and at last of G3, if it comes to that.
final class GroupCommit: Sendable {
    /// Jobs in one transaction, unless a single request has more: nobody waits much longer than for these.
    static let maxJobs = 10_000

    private let lane: Lane<Writer>
    let observers = Observers()
    let logPages = LogPages()

    /// - Parameter lock: Given back when the connection is closed, and before whoever waits for that may open the database
    ///   again.
    init(_ writer: Handover<Writer>, lock: DatabaseLock, options: StoreOptions) throws(StoreOpenError) {
        let loop = CommitLoop(writer.take(), observers: observers, logPages: logPages, options: options)
        lane = try Lane(named: "halyard-writer", Handover(loop), atEnd: { lock.release() })
    }

    /// - Parameter weight: How many jobs it writes, where they may be many.
    func perform<Value: Sendable>(
        weight: Int, _ body: @escaping @Sendable (Writer) throws(SQLiteError) -> Value
    ) async throws(StoreError) -> Value {
        try await lane.perform(weight: weight, body)
    }

    func close() async { await lane.close() }
}

/// Pages in the write-ahead log after the last commit.
final class LogPages: Sendable {
    let count = Atomic(0)
}

/// The writer's thread's own state.
private final class CommitLoop: LaneWorker {
    private let writer: Writer
    private let observers: Observers
    private let logPages: LogPages
    private let options: StoreOptions
    private var hasStopped = false
    private var lastLogPages = 0
    private var checkpointAt: Int

    init(_ writer: Writer, observers: Observers, logPages: LogPages, options: StoreOptions) {
        self.writer = writer
        self.observers = observers
        self.logPages = logPages
        self.options = options
        checkpointAt = options.checkpointPages
    }

    func carryOut(_ batch: [any Request<Writer>]) {
        var rest = batch[...]
        while let first = rest.first {
            var jobs = first.weight
            let share = rest.dropFirst().prefix { request in
                jobs += request.weight
                return jobs <= GroupCommit.maxJobs
            }
            commit(rest[..<share.endIndex])
            rest = rest[share.endIndex...]
        }
    }

    private func commit(_ batch: ArraySlice<any Request<Writer>>) {
        if hasStopped { return answer(batch, .closed) }
        do throws(SQLiteError) {
            try writer.begin(isObserved: !observers.isEmpty)
        } catch {
            return answer(batch, storeError(error, .running))
        }
        do throws(SQLiteError) {
            for request in batch { try request.run(with: writer) }
            try writer.flush()
        } catch {
            return undo(batch, error)
        }
        do throws(SQLiteError) {
            try writer.commit()
        } catch {
            return commitFailed(batch, error)
        }
        observers.tell(writer.takeChanges())
        answer(batch, nil)
        checkpointIfDue()
    }

    private func answer(_ batch: ArraySlice<any Request<Writer>>, _ failure: StoreError?) {
        for request in batch { request.answer(failure) }
    }

    private func undo(_ batch: ArraySlice<any Request<Writer>>, _ error: SQLiteError) {
        do throws(SQLiteError) {
            try writer.rollBack()
        } catch {
            // What is in memory may not be what is on disk.
            let failure = storeError(error, .running)
            answer(batch, failure)
            return stop(failure)
        }
        if batch.count == 1 { return answer(batch, storeError(error, .running)) }
        for request in batch { commit([request]) }
    }

    private func commitFailed(_ batch: ArraySlice<any Request<Writer>>, _ error: SQLiteError) {
        let failure = storeError(error, .committing)
        switch failure {
        case .busy, .diskFull: return undo(batch, error)
        default: break
        }
        answer(batch, failure)
        stop(failure)
    }

    /// After the callers have been answered, so that none of them waits for it.
    private func checkpointIfDue() {
        let pages = writer.connection.walPages
        logPages.count.store(pages, ordering: .relaxed)
        // The log began anew, since all of it was copied.
        if pages < lastLogPages { checkpointAt = options.checkpointPages }
        lastLogPages = pages
        guard pages >= checkpointAt else { return }
        // While somebody's long read holds the log back, each attempt costs its whole length: do not try at each commit.
        checkpointAt = pages + options.checkpointPages
        do throws(SQLiteError) {
            try writer.connection.checkpoint()
        } catch {
            switch error.primary {
            // Somebody else's checkpoint or recovery; or no room for what it copies, which stays in the log.
            case .busy, .locked, .full: return
            // A sync that failed may have dropped what it was to write: only a new start, which copies the log again, is
            // safe.
            default: stop(storeError(error, .running))
            }
        }
    }

    private func stop(_ reason: StoreError) {
        hasStopped = true
        // The WAL stays for the next start to recover from.
        try? writer.connection.enable(.keepsWALOnClose)  // Cannot fail while open; else it is checkpointed as ever.
        observers.tell([.stopped(reason)])
    }

    private func storeError(_ error: SQLiteError, _ phase: StoreError.Phase) -> StoreError {
        StoreError(error, path: writer.path, phase: phase, waited: options.busyTimeout)
    }
}
