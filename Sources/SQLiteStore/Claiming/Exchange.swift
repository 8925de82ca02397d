import Jobs
import SQLite

extension Writer {
    /// Records the ends of attempts, makes due jobs ready, and claims jobs, in the caller's transaction.
    ///
    /// - Parameter children: The children whose parts are already stored, for attempts with very many children.
    func exchange(
        _ ends: [AttemptEnd], children: [Lease: StagedChildren] = [:], claim: ClaimRequest?, now: Timestamp
    ) throws(SQLiteError) -> Exchange {
        var finished: [FinishResult] = []
        finished.reserveCapacity(ends.count)
        for end in ends { finished.append(try finish(end, children[end.lease], now: now)) }
        for staged in children.values.lazy.flatMap(\.large) { discardUnlessAccepted(staged) }
        steady.notes(wall: now)
        var nextDueAt = try self.nextDueAt(now: now)
        if let dueAt = nextDueAt, dueAt <= now {
            try promoteDue(now: now)
            nextDueAt = try self.nextDueAt(now: now)
        }
        let claimed = if let claim { try self.claim(claim, now: now) } else { [ClaimedJob]() }
        // When a trial ends, the jobs that it held back may start, although no job becomes due then.
        if let end = trialsEndAt(now: now) { nextDueAt = min(nextDueAt ?? end, end) }
        // Cancelled jobs left slots free, and no later change reports the ready jobs behind them. So the caller claims
        // again at once.
        if claimsAgain { nextDueAt = now }
        return Exchange(finished: finished, claimed: claimed, nextDueAt: nextDueAt)
    }

    /// Whether no job is running, and none can start before the next scheduled one is due.
    func isAtRest(now: Timestamp) throws(SQLiteError) -> Bool {
        if isWorking || !memory.running.isEmpty { return false }
        if memory.liveQueues.contains(where: { memory.queues[$0].claimable > 0 }) { return false }
        return try nextDueAt(now: now).map { $0 > now } ?? true
    }

    /// The earlier of the next calendar time and the end of the next wait, both on the current wall clock.
    private func nextDueAt(now: Timestamp) throws(SQLiteError) -> Timestamp? {
        if memory.scheduled == 0 { return nil }
        let dueAt = try claiming.nextDue.first()
        guard let waitEnd = try claiming.nextWait.first() else { return dueAt }
        let waitEndsAt = now + (waitEnd - steady.moment)
        return dueAt.map { min($0, waitEndsAt) } ?? waitEndsAt
    }

    /// Makes due jobs ready: at most 1,000 with a calendar time and 1,000 whose wait has ended. The next call finds the
    /// rest.
    private func promoteDue(now: Timestamp) throws(SQLiteError) {
        struct Due {
            let job: Int64
            let queue: Int
            let graph: GraphID?
            let attempt: Int
        }
        var due: [Due] = []
        func collect(_ statement: borrowing Statement, until end: Int64) throws(SQLiteError) {
            statement.bind(1, end)
            while try statement.step() {
                due.append(
                    Due(
                        job: statement.integer(0), queue: try memory.queueIndex(id: statement.integer(1)),
                        graph: statement.optionalInteger(2).map(GraphID.init(_:)), attempt: Int(statement.integer(3))))
            }
        }
        try collect(claiming.due, until: now.milliseconds)
        try collect(claiming.waited, until: steady.now)
        for job in due {
            claiming.promote.bind(1, job.job)
            claiming.promote.bind(2, steady.now)
            claiming.promote.bind(3, now.milliseconds)
            try claiming.promote.run()
            count(queue: job.queue, graph: job.graph, from: .scheduled, to: .ready, now: now)
            note(JobID(job.job), graph: job.graph, state: .ready, attempt: job.attempt)
        }
    }
}

struct ClaimStatements: ~Copyable {
    static let nextDueSQL: SQL = """
        SELECT   due_ms
        FROM     job INDEXED BY job_due
        WHERE    state = 1
        AND      steady_ms IS NULL
        ORDER BY due_ms
        LIMIT    1
        """
    static let nextWaitSQL: SQL = """
        SELECT   steady_ms
        FROM     job INDEXED BY job_wait
        WHERE    state = 1
        AND      steady_ms IS NOT NULL
        ORDER BY steady_ms
        LIMIT    1
        """
    static let dueSQL: SQL = """
        SELECT   id, queue_id, graph_id, attempt
        FROM     job INDEXED BY job_due
        WHERE    state = 1
        AND      steady_ms IS NULL
        AND      due_ms <= :now
        ORDER BY due_ms
        LIMIT    1000
        """
    static let waitedSQL: SQL = """
        SELECT   id, queue_id, graph_id, attempt
        FROM     job INDEXED BY job_wait
        WHERE    state = 1
        AND      steady_ms <= :now
        ORDER BY steady_ms
        LIMIT    1000
        """
    /// A job with a calendar time counts as ready since that time, even if the daemon noticed later.
    static let promoteSQL: SQL = """
        UPDATE job
        SET    state = 2, steady_ms = coalesce(steady_ms, ?2 - max(0, ?3 - due_ms))
        WHERE  id = ?1
        AND    state = 1
        """
    static let readySQL: SQL = """
        SELECT   id, steady_ms, attempt, tries, definition_id, graph_id, dependencies
        FROM     job INDEXED BY job_ready
        WHERE    state = 2
        AND      queue_id = :queue
        AND      priority = :priority
        ORDER BY steady_ms, id
        """
    static let readyJobSQL: SQL = """
        SELECT id, steady_ms, attempt, tries, definition_id, graph_id, dependencies, queue_id
        FROM   job
        WHERE  id = :job
        AND    state = 2
        """
    static let startSQL: SQL = """
        UPDATE job
        SET    state = 3, attempt = attempt + 1, started_ms = ?2
        WHERE  id = ?1
        AND    state = 2
        """
    static let inputSQL: SQL = "SELECT input FROM job_input WHERE job_id = :job"

    let nextDue: Statement
    let nextWait: Statement
    let due: Statement
    let waited: Statement
    let promote: Statement
    /// One cursor for each priority, highest first.
    let ready: [ReadyCursor]
    let readyJob: Statement
    let start: Statement
    let input: Statement

    init(_ connection: Connection) {
        nextDue = connection.prepare(Self.nextDueSQL)
        nextWait = connection.prepare(Self.nextWaitSQL)
        due = connection.prepare(Self.dueSQL)
        waited = connection.prepare(Self.waitedSQL)
        promote = connection.prepare(Self.promoteSQL)
        var cursors: [ReadyCursor] = []
        for priority in Priority.allCases.sorted(by: >) {
            cursors.append(ReadyCursor(priority, connection.prepare(Self.readySQL)))
        }
        ready = cursors
        readyJob = connection.prepare(Self.readyJobSQL)
        start = connection.prepare(Self.startSQL)
        input = connection.prepare(Self.inputSQL)
    }
}

extension Statement {
    /// The timestamp in the statement's first row, if there is a row.
    fileprivate borrowing func first() throws(SQLiteError) -> Timestamp? {
        defer { reset() }
        return try step() ? timestamp(0) : nil
    }
}
