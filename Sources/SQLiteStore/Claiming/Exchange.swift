import Jobs
import SQLite

extension Writer {
    func exchange(_ ends: [AttemptEnd], claim: ClaimRequest?, now: Timestamp) throws(SQLiteError) -> Exchange {
        var finished: [FinishResult] = []
        finished.reserveCapacity(ends.count)
        for end in ends { finished.append(try finish(end, now: now)) }
        var nextDueAt = try self.nextDueAt()
        if let dueAt = nextDueAt, dueAt <= now {
            try promoteDue(now: now)
            nextDueAt = try self.nextDueAt()
        }
        let claimed = if let claim { try self.claim(claim, now: now) } else { [ClaimedJob]() }
        // What a trial keeps waiting may start then, though no job became due.
        if !trials.isEmpty, let end = trials.holdsOthers(now: now) { nextDueAt = min(nextDueAt ?? end, end) }
        return Exchange(finished: finished, claimed: claimed, nextDueAt: nextDueAt)
    }

    private func nextDueAt() throws(SQLiteError) -> Timestamp? {
        if memory.scheduled == 0 { return nil }
        defer { claiming.nextDue.reset() }
        return try claiming.nextDue.step() ? claiming.nextDue.timestamp(0) : nil
    }

    /// Makes jobs ready whose time has come, a bounded number; the rest still counts as next due.
    private func promoteDue(now: Timestamp) throws(SQLiteError) {
        struct Due {
            let job: Int64
            let queue: Int
            let graph: GraphID?
            let attempt: Int
        }
        var due: [Due] = []
        claiming.due.bind(1, now.milliseconds)
        while try claiming.due.step() {
            due.append(
                Due(
                    job: claiming.due.integer(0), queue: memory.queueIndex(id: claiming.due.integer(1)),
                    graph: claiming.due.optionalInteger(2).map(GraphID.init(_:)), attempt: Int(claiming.due.integer(3)))
            )
        }
        for job in due {
            claiming.promote.bind(1, job.job)
            try claiming.promote.run()
            count(queue: job.queue, graph: job.graph, from: .scheduled, to: .ready, now: now)
            note(JobID(job.job), graph: job.graph, state: .ready, attempt: job.attempt)
        }
    }
}

struct ClaimStatements: ~Copyable {
    static let nextDueSQL: StaticString = """
        SELECT   due_ms
        FROM     job INDEXED BY job_due
        WHERE    state = 1
        ORDER BY due_ms
        LIMIT    1
        """
    static let dueSQL: StaticString = """
        SELECT   id, queue_id, graph_id, attempt
        FROM     job INDEXED BY job_due
        WHERE    state = 1
        AND      due_ms <= :now
        ORDER BY due_ms
        LIMIT    1000
        """
    static let promoteSQL: StaticString = """
        UPDATE job
        SET    state = 2
        WHERE  id = :job
        AND    state = 1
        """
    static let readySQL: StaticString = """
        SELECT   id, due_ms, attempt, tries, definition_id, graph_id, dependencies
        FROM     job INDEXED BY job_ready
        WHERE    state = 2
        AND      queue_id = :queue
        AND      priority = :priority
        ORDER BY due_ms, id
        """
    static let readyJobSQL: StaticString = """
        SELECT id, due_ms, attempt, tries, definition_id, graph_id, dependencies, queue_id
        FROM   job
        WHERE  id = :job
        AND    state = 2
        """
    static let startSQL: StaticString = """
        UPDATE job
        SET    state = 3, attempt = attempt + 1, started_ms = ?2
        WHERE  id = ?1
        AND    state = 2
        """
    static let inputSQL: StaticString = "SELECT input FROM job_input WHERE job_id = :job"

    let nextDue: Statement
    let due: Statement
    let promote: Statement
    /// One for each priority, the highest first.
    let ready: [ReadyCursor]
    let readyJob: Statement
    let start: Statement
    let input: Statement

    init(_ connection: Connection) {
        nextDue = connection.prepare(Self.nextDueSQL)
        due = connection.prepare(Self.dueSQL)
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
