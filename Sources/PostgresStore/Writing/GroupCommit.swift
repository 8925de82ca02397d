import Glibc
import Jobs
import PostgreSQL
import StoreParts
import Synchronization

/// Runs the writes of several callers on one thread and connection. Enqueues that wait together share one transaction and one
/// sync, up to ``maxJobs``.
///
/// Invariants:
/// - G1: a caller receives success only after COMMIT has returned success.
/// - G2: a failed write leaves no trace and does not affect the others: the transaction is rolled back, and each write
///   runs again in its own transaction. A write that met another transaction is repeated.
/// - G3: if the connection breaks before COMMIT is answered, each caller is told so (`StoreError.unanswered`), and
///   everything remembered is read again.
/// - G4: observers are notified of each commit of the connection once, in order, before its callers resume; after a commit
///   that was not answered, they are asked to look again.
/// - G5: a transaction contains at most one request that waits for rows of other transactions, so that its locks are taken
///   in one order. All enqueues count as one, since they are carried out together; those that wait for nothing join any.
final class CommitLoop: RequestHandler {
    /// The maximum number of jobs in one transaction. A single request may have more.
    private static let maxJobs = 2000
    private static let maxPauseMicroseconds: UInt32 = 100_000

    private let writer: Writer
    private let observers: Observers
    private let health: WriteHealth
    private let problems: WriteProblems
    private var server: String { writer.link.server }
    /// Whether the last request found no server.
    private var isCutOff = false

    init(_ writer: Writer, observers: Observers, health: WriteHealth, problems: WriteProblems) {
        self.writer = writer
        self.observers = observers
        self.health = health
        self.problems = problems
    }

    /// While the server cannot be reached, tries to reach it, so that observers are notified when it is back.
    var moreWork: MoreWork {
        if isCutOff { return .later(.seconds(1)) }
        return writer.foldable.isEmpty ? .none : .now
    }

    func carryOut(_ batch: [any Request<Writer>]) {
        if batch.isEmpty { return carryOutWork() }
        for transaction in Self.transactions(of: batch) {
            var rest = transaction[...]
            while let first = rest.first {
                var jobs = first.weight
                let share = rest.dropFirst().prefix { request in
                    jobs += request.weight
                    return jobs <= Self.maxJobs
                }
                commit(Array(rest[..<share.endIndex]))
                rest = rest[share.endIndex...]
            }
        }
    }

    /// Divides requests that wait together into transactions (G5).
    private static func transactions(of batch: [any Request<Writer>]) -> [[any Request<Writer>]] {
        let enqueues = batch.filter { $0 is EnqueueRequest }
        let others = batch.filter { !($0 is EnqueueRequest) }
        let alone = others.map { [$0] }
        if enqueues.isEmpty { return alone }
        let mayWait = enqueues.contains { ($0 as? EnqueueRequest)?.mayWait ?? false }
        guard !mayWait, let first = others.first, !first.excludesAdding else { return [enqueues] + alone }
        return [enqueues + [first]] + alone.dropFirst()
    }

    func finish() { writer.link.close() }

    private func carryOutWork() {
        do throws(PostgresError) {
            try writer.begin(isObserved: false)
            try writer.fold()
            try writer.flush()
            try writer.commit()
            reached()
        } catch {
            note(error, .running)
            undo(after: error)
        }
    }

    /// The conflicts of a write with other transactions. The write is repeated until ``StoreError/lockTimeout`` has
    /// passed since the first conflict.
    private struct Conflicts {
        var count: UInt32 = 0
        /// Nil before the first conflict.
        private var deadline: ContinuousClock.Instant?

        var mayRepeat: Bool { deadline.map { .now < $0 } ?? true }

        /// Sleeps for a random time, so that two stores do not conflict repeatedly: not after the first conflict, at
        /// most 1 ms after the second one, and at most twice as long after each further one, up to 100 ms.
        mutating func pause() {
            count += 1
            deadline = deadline ?? .now + StoreError.lockTimeout
            if count == 1 { return }
            usleep(.random(in: 0...min(500 << min(count - 1, 10), maxPauseMicroseconds)))
        }
    }

    private func commit(_ batch: [any Request<Writer>], _ conflicts: Conflicts = Conflicts()) {
        var phase = StoreError.Phase.running
        do throws(PostgresError) {
            try begin(excludesAdding: batch.contains { $0.excludesAdding })
            try run(batch)
            try writer.flush()
            phase = .committing
            try writer.commit()
        } catch {
            undo(after: error)
            if error.isOfEarlierStatement { phase = .running }
            switch phase {
            case .running: failed(batch, error, conflicts)
            case .committing: uncommitted(batch, error, conflicts)
            }
            return
        }
        let changes = writer.takeChanges()
        observers.tell(changes)
        writer.forgetChanges()
        reached()
        for request in batch { request.answer(nil) }
        do throws(PostgresError) {
            try writer.tellOthers(changes)
        } catch {
            // The commit stands. A lost connection is noticed by the next request.
            if error.cause == .lost { writer.connectionLost() }
        }
    }

    /// Repeats the requests of a transaction that failed before its commit, if that may help.
    private func failed(_ batch: [any Request<Writer>], _ error: PostgresError, _ conflicts: Conflicts) {
        let isCutOff = error.cause != .refused && error.cause != .unexpected
        if isCutOff || error.isReadOnly { return answer(batch, error, .running) }
        if batch.count > 1 {
            for request in batch { commit([request]) }
        } else if error.isConflict || error.isStale, conflicts.mayRepeat {
            var conflicts = conflicts
            conflicts.pause()
            commit(batch, conflicts)
        } else {
            answer(batch, error, .running)
        }
    }

    private func uncommitted(_ batch: [any Request<Writer>], _ error: PostgresError, _ conflicts: Conflicts) {
        if error.isConflict, conflicts.mayRepeat {
            var conflicts = conflicts
            conflicts.pause()
            for request in batch { commit([request], conflicts) }
            return
        }
        answer(batch, error, .committing)
        // G4: the commit may be stored.
        observers.tell([.missed])
    }

    /// Begins a transaction. If the connection was lost while it was idle, nothing was written and a new one may work.
    private func begin(excludesAdding: Bool) throws(PostgresError) {
        do throws(PostgresError) {
            try writer.begin(isObserved: !observers.isEmpty, excludesAdding: excludesAdding)
        } catch {
            guard error.cause == .lost else { throw error }
            writer.connectionLost()
            try writer.begin(isObserved: !observers.isEmpty, excludesAdding: excludesAdding)
        }
    }

    /// Runs the requests in order. Enqueues that follow each other are carried out together.
    private func run(_ batch: [any Request<Writer>]) throws(PostgresError) {
        var enqueues: [EnqueueRequest] = []
        for request in batch {
            if let enqueue = request as? EnqueueRequest {
                enqueues.append(enqueue)
                continue
            }
            try run(enqueues)
            enqueues = []
            try request.run(with: writer)
        }
        try run(enqueues)
    }

    private func run(_ requests: [EnqueueRequest]) throws(PostgresError) {
        guard let first = requests.first else { return }
        // The callers' times differ only with a clock of their own, which only tests have.
        guard requests.allSatisfy({ $0.now == first.now }) || writer.time.server != nil else {
            for request in requests { try request.run(with: writer) }
            return
        }
        var outcomes = try writer.enqueue(requests.flatMap(\.graphs), now: first.now)[...]
        for request in requests {
            request.outcomes = Array(outcomes.prefix(request.graphs.count))
            outcomes = outcomes.dropFirst(request.graphs.count)
        }
    }

    private func undo(after error: PostgresError) {
        // The URL may name another server that is not a standby.
        let mustReconnect = error.isStale || error.isReadOnly
        if mustReconnect { writer.link.close() }
        if error.cause == .lost || error.cause == .unreachable || error.cause == .noLibrary || mustReconnect {
            return writer.connectionLost()
        }
        do throws(PostgresError) {
            try writer.rollBack()
        } catch {
            // The server undoes the transaction of a connection that broke.
            writer.connectionLost()
        }
    }

    private func answer(_ batch: [any Request<Writer>], _ error: PostgresError, _ phase: StoreError.Phase) {
        let failure = note(error, phase)
        for request in batch { request.answer(failure) }
    }

    @discardableResult
    private func note(_ error: PostgresError, _ phase: StoreError.Phase) -> StoreError {
        let failure = StoreError(error, server: server, phase: phase)
        health.lastFailed.store(failure.isOutside, ordering: .relaxed)
        if case .unreachable = failure { isCutOff = true }
        if case .unanswered = failure { isCutOff = true }
        if failure.isPassing { observers.update { $0.problem = problems.failed(failure, retries: isCutOff, by: self) } }
        return failure
    }

    private func reached() {
        isCutOff = false
        observers.update { $0.problem = problems.succeeded(by: self) }
        health.lastFailed.store(false, ordering: .relaxed)
    }
}

extension StoreError {
    /// Whether something outside of the jobs causes the error. A statement that the server refuses may be due to the result of
    /// one job.
    fileprivate var isOutside: Bool {
        switch self {
        case .denied, .moved: true
        default: isPassing
        }
    }
}

/// Why the connections of a store cannot write now. One of them may be cut off while another one writes.
final class WriteProblems: Sendable {
    private struct Problem {
        let loop: ObjectIdentifier
        let error: StoreError
        let retries: Bool
    }

    private let problems = Mutex<[Problem]>([])

    /// - Parameter retries: Whether the loop tries again by itself.
    /// - Returns: The first problem that is not over.
    func failed(_ error: StoreError, retries: Bool, by loop: CommitLoop) -> StoreError? {
        let loop = ObjectIdentifier(loop)
        return problems.withLock { problems in
            problems.removeAll { $0.loop == loop }
            problems.append(Problem(loop: loop, error: error, retries: retries))
            return problems.first?.error
        }
    }

    /// Ends the loop's problem, and those of loops that do not try again by themselves: they may have nothing to write.
    ///
    /// - Returns: The first problem that is not over.
    func succeeded(by loop: CommitLoop) -> StoreError? {
        let loop = ObjectIdentifier(loop)
        return problems.withLock { problems in
            problems.removeAll { $0.loop == loop || !$0.retries }
            return problems.first?.error
        }
    }
}

/// Whether the last write of a store failed for a reason outside of the jobs.
final class WriteHealth: Sendable {
    let lastFailed = Atomic(false)
}
