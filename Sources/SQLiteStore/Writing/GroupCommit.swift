import Jobs
import SQLite
import StoreParts
import Synchronization

/// Runs the writes of all callers on one thread. Writes that wait together share one transaction and one sync, up to
/// ``maxJobs``.
///
/// Invariants:
/// - G1: a caller receives success only after COMMIT has returned success.
/// - G2: a failed write leaves no trace and does not affect the others: the transaction is rolled back, and each write
///   runs again in its own transaction.
/// - G3: after a COMMIT or a checkpoint that failed for any reason except a full disk or a lock, nothing more is
///   written, since the contents of the disk are unknown.
/// - G4: observers are notified of each commit once, in order, before its callers resume; a stop by G3 or G5 is their
///   last notification.
/// - G5: after the database or its log was removed or replaced, nothing is acknowledged and nothing more is written.
final class GroupCommit: Sendable {
    /// The maximum number of jobs in one transaction, so that no caller waits much longer than these jobs take. A single
    /// request may have more.
    static let maxJobs = 2000

    let thread: RequestThread<Writer>
    /// Notices at once that a file was removed or replaced. Without it, the next commit notices.
    let watch: FileWatch?
    let lock: DatabaseLock
    let observers = Observers()
    let logPages = LogPages()

    /// - Parameter lock: The database's lock. It is released after the connection closes and before ``close()``
    ///   returns, so that the caller can open the database again.
    init(_ writer: Handover<Writer>, files: StoreFiles, lock: DatabaseLock, options: StoreOptions)
        throws(StoreOpenError)
    {
        let location = try DatabaseLocation(lock.databasePath)
        let loop = CommitLoop(writer.take(), files, observers: observers, logPages: logPages, options: options)
        let thread = try RequestThread(named: "halyard-writer", Handover(loop), atEnd: { lock.release() })
        self.thread = thread
        self.lock = lock
        watch =
            options.watchesFiles
            ? FileWatch(files, in: location) { [weak thread] in thread?.put(Nudge()) } : nil
    }

    deinit { watch?.stop() }

    /// Begins work that may take several transactions. Returns when the work has ended, or when the store closes before
    /// that.
    ///
    /// - Parameter body: Returns a value and the work to wait for. The work is nil if none remains.
    func performLong<Value: Sendable>(
        weight: Int, _ body: @escaping @Sendable (Writer) throws(SQLiteError) -> LongWorkRequest<Value>.Begun
    ) async throws(StoreError) -> LongAnswer<Value> {
        try await withUnsafeContinuation { (continuation: UnsafeContinuation<LongWorkRequest<Value>.Answer, Never>) in
            let request = LongWorkRequest(continuation, weight: weight, body)
            if !thread.put(request) { request.answer(.closed) }
        }.get()
    }

    func close() async {
        watch?.stop()
        await thread.close()
    }
}

/// A request that only wakes the writer, so that it checks its files.
private final class Nudge: Request {
    typealias Resource = Writer
    let weight = 0
    func run(with writer: Writer) {}
    func answer(_ failure: StoreError?) {}
}

/// The number of pages in the write-ahead log after the last commit.
final class LogPages: Sendable {
    let count = Atomic(0)
}

/// Commits batches of requests on the writer's thread.
private final class CommitLoop: RequestHandler {
    private let writer: Writer
    private let files: StoreFiles
    private let observers: Observers
    private let logPages: LogPages
    private let options: StoreOptions
    private var hasStopped = false
    private var lastLogPages = 0
    private var checkpointAt: Int
    /// True after a slice failed for a reason that stops all writing, such as a full disk. The next slice then waits
    /// for the next write, or for a second.
    private var isPaused = false

    init(
        _ writer: Writer, _ files: StoreFiles, observers: Observers, logPages: LogPages, options: StoreOptions
    ) {
        self.writer = writer
        self.files = files
        self.observers = observers
        self.logPages = logPages
        self.options = options
        checkpointAt = options.checkpointPages
        // Work that the last process left open.
        observers.update { $0.isWorking = writer.isWorking }
    }

    deinit { writer.dismissWaiters() }

    var moreWork: MoreWork {
        guard !hasStopped, let next = writer.nextSliceAt else { return .none }
        if isPaused { return .later(.seconds(1)) }
        let wait = next - .now
        return wait > .zero ? .later(wait) : .now
    }

    func carryOut(_ batch: [any Request<Writer>]) {
        carryOutRequests(batch)
        guard let next = writer.nextSliceAt, next <= .now, !hasStopped else { return }
        let slice = SliceRequest()
        // Stays nil if the transaction cannot begin.
        writer.sliced = nil
        commit([slice])
        // A rollback reads the list of work again, so the failed work is not lost.
        isPaused = slice.failure.map { $0.isTransient || writer.sliced == nil } ?? false
        if isPaused || hasStopped { return }
        writer.noteSlice(failure: slice.failure)
        observers.update { condition in
            condition.stuck = writer.stuck
            condition.isWorking = writer.isWorking
        }
    }

    private func carryOutRequests(_ batch: [any Request<Writer>]) {
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
        if let loss = files.lost { return fileLost(loss, batch) }
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
        if let loss = files.lostAtCommit() { return fileLost(loss, batch) }
        observers.tell(writer.takeChanges())
        noteCommit()
        answer(batch, nil)
        writer.answerWaiters()
        checkpointIfDue()
    }

    private func answer(_ batch: ArraySlice<any Request<Writer>>, _ failure: StoreError?) {
        if let failure, failure.isTransient { observers.update { $0.problem = failure } }
        for request in batch { request.answer(failure) }
    }

    /// Whether a disk that was full has space again. The success of a small commit does not show this: the commit may
    /// fit into the space that a failed commit left in the log.
    private var hasRoomAgain: Bool {
        // The whole log was copied into the database, and the log has started again from its beginning.
        if writer.connection.walPages < lastLogPages { return true }
        return DatabaseLocation.freeBytes(at: files.databasePath).map { $0 >= 1 << 20 } ?? true
    }

    private func noteCommit() {
        let isOver = observers.condition.problem.map { !$0.isDiskFull || hasRoomAgain } ?? true
        observers.update { condition in
            if isOver { condition.problem = nil }
            condition.isWorking = writer.isWorking
        }
    }

    private func undo(_ batch: ArraySlice<any Request<Writer>>, _ error: SQLiteError) {
        do throws(SQLiteError) {
            try writer.rollBack()
        } catch {
            // The writer's memory may differ from the database.
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

    private func fileLost(_ loss: StoreFiles.Loss, _ batch: ArraySlice<any Request<Writer>>) {
        guard case .name(let path) = loss else {
            writer.lock.note { $0.suspectsDamage = true }
            let failure = StoreError.overwritten(path: files.databasePath)
            answer(batch, failure)
            return stop(failure)
        }
        var isSaved = path != files.databasePath
        if !isSaved { writer.lock.note { $0.lostDatabase = files.databaseIdentity } }
        // The log is still open, so a checkpoint can save its contents to the database.
        if path == files.logPath {
            do throws(SQLiteError) {
                try writer.connection.checkpoint()
            } catch {
                isSaved = false
            }
        }
        let failure = StoreError.fileLost(path: path, isSaved: isSaved)
        answer(batch, failure)
        stop(failure)
    }

    /// Checkpoints if the log is long enough. Called after the callers are answered, so that none of them waits for a
    /// checkpoint.
    private func checkpointIfDue() {
        let pages = writer.connection.walPages
        logPages.count.store(pages, ordering: .relaxed)
        // The log has started again from its beginning, because all of it was copied into the database.
        if pages < lastLogPages { checkpointAt = options.checkpointPages }
        lastLogPages = pages
        guard pages >= checkpointAt else { return }
        // While a long read keeps the log from being copied, the cost of each attempt grows with the length of the log,
        // so not every commit makes an attempt.
        checkpointAt = pages + options.checkpointPages
        defer { files.noteCheckpoint() }
        do throws(SQLiteError) {
            try writer.connection.checkpointIfPossible()
        } catch {
            // After a failed sync the page cache may show data that is not on the disk. Only a restart is safe: it
            // reads the log from the disk and copies all of it again.
            stop(storeError(error, .running))
        }
    }

    /// Stops all writing. The WAL stays for the next start to recover from, since only ``finish()`` allows SQLite to
    /// copy and empty it.
    private func stop(_ reason: StoreError) {
        hasStopped = true
        writer.lock.noteStoreStopped()
        switch reason {
        case .damaged, .fileLost, .overwritten: break
        default: writer.lock.note { $0.noteFailedSync() }
        }
        observers.tell([.stopped(reason)])
        writer.dismissWaiters()
    }

    /// Copies the log into the database, and allows the last connection to empty it.
    func finish() {
        if hasStopped { return }
        do throws(SQLiteError) {
            // Otherwise the rest stays in the log, which every commit has synced.
            if try writer.connection.checkpointIfPossible() { try writer.connection.enable(.checkpointsOnClose) }
        } catch {
            writer.lock.note { $0.noteFailedSync() }
        }
    }

    private func storeError(_ error: SQLiteError, _ phase: StoreError.Phase) -> StoreError {
        let failure = StoreError(error, path: writer.path, phase: phase, waited: options.busyTimeout)
        if case .damaged = failure { writer.lock.note { $0.suspectsDamage = true } }
        return failure
    }
}

extension StoreError {
    fileprivate var isDiskFull: Bool { if case .diskFull = self { true } else { false } }
}
