import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Records the ends of attempts, makes due jobs ready, and claims jobs, in the caller's transaction.
    ///
    /// - Parameter children: The children whose parts are already stored, for attempts with very many children.
    func exchange(
        _ ends: [AttemptEnd], children: [Lease: StagedChildren] = [:], claim: ClaimRequest?, by holder: HolderID,
        now: Timestamp
    ) throws(SQLiteError) -> Exchange {
        var finished: [FinishResult] = []
        finished.reserveCapacity(ends.count)
        for end in ends { finished.append(try finish(end, children[end.lease], by: holder, now: now)) }
        for staged in children.values.lazy.flatMap(\.large) { discardUnlessAccepted(staged) }
        steady.notes(wall: now)
        var nextDueAt = try self.nextDueAt(now: now)
        if let dueAt = nextDueAt, dueAt <= now {
            try promoteDue(now: now)
            nextDueAt = try self.nextDueAt(now: now)
        }
        // H1
        let isAlive = unstored.holder == holder
        let claimed = if isAlive, let claim { try self.claim(claim, by: holder, now: now) } else { [ClaimedJob]() }
        // When a trial ends, the jobs that it held back may start, although no job becomes due then.
        if let end = trialsEndAt(now: now) { nextDueAt = min(nextDueAt ?? end, end) }
        // Cancelled jobs left slots free, or the claim skipped as many jobs without room as it may, and no later change
        // reports the ready jobs behind them. So the caller claims again at once.
        if claimsAgain { nextDueAt = now }
        return Exchange(finished: finished, claimed: claimed, nextDueAt: nextDueAt, isAlive: isAlive)
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
        let dueAt = try claiming.nextDue.first { $0.timestamp(0) }
        guard let waitEnd = try claiming.nextWait.first({ $0.timestamp(0) }) else { return dueAt }
        let waitEndsAt = now + (waitEnd - steady.moment)
        return dueAt.map { min($0, waitEndsAt) } ?? waitEndsAt
    }

    /// Makes due jobs ready: at most 1,000 with a calendar time and 1,000 whose wait has ended. The next call finds the
    /// rest.
    private func promoteDue(now: Timestamp) throws(SQLiteError) {
        struct Due {
            let job: JobID
            let queue: Int
            let graph: GraphID?
            let attempt: Int
        }
        var due: [Due] = []
        for (statement, end) in [(claiming.due, now), (claiming.waited, steady.moment)] {
            due += try statement.all([.end <- end]) { (row) throws(SQLiteError) in
                Due(
                    job: row.job(0), queue: try memory.queueIndex(id: row.integer(1)), graph: row.graph(2),
                    attempt: Int(row.integer(3)))
            }
        }
        for job in due {
            try claiming.promote.run([.job <- job.job, .steady <- steady.now, .now <- now])
            count(queue: job.queue, graph: job.graph, from: .scheduled, to: .ready, now: now)
            note(job.job, graph: job.graph, state: .ready, attempt: job.attempt)
            try noteReady(job.job, queue: job.queue)
        }
    }
}

struct ClaimStatements: StatementGroup {
    let nextDue = Statement(
        """
        SELECT   due_ms
        FROM     job INDEXED BY job_due
        WHERE    state = \(JobState.scheduled)
        AND      steady_ms IS NULL
        ORDER BY due_ms
        LIMIT    1
        """)
    let nextWait = Statement(
        """
        SELECT   steady_ms
        FROM     job INDEXED BY job_wait
        WHERE    state = \(JobState.scheduled)
        AND      steady_ms IS NOT NULL
        ORDER BY steady_ms
        LIMIT    1
        """)
    let due = Statement(
        """
        SELECT   id, queue_id, graph_id, attempt
        FROM     job INDEXED BY job_due
        WHERE    state = \(JobState.scheduled)
        AND      steady_ms IS NULL
        AND      due_ms <= :end
        ORDER BY due_ms
        LIMIT    1000
        """)
    let waited = Statement(
        """
        SELECT   id, queue_id, graph_id, attempt
        FROM     job INDEXED BY job_wait
        WHERE    state = \(JobState.scheduled)
        AND      steady_ms <= :end
        ORDER BY steady_ms
        LIMIT    1000
        """)
    /// A job with a calendar time counts as ready since that time, even if the daemon noticed later.
    let promote = Statement(
        """
        UPDATE job
        SET    state = \(JobState.ready), steady_ms = coalesce(steady_ms, :steady - max(0, :now - due_ms))
        WHERE  id = :job
        AND    state = \(JobState.scheduled)
        """)
    /// One cursor for each priority, highest first.
    let ready = Priority.allCases.sorted(by: >).map(ReadyCursor.init(_:))
    let readyJob = Statement(
        """
        SELECT id, steady_ms, attempt, tries, definition_id, graph_id, dependencies, queue_id, priority
        FROM   job
        WHERE  id = :job
        AND    state = \(JobState.ready)
        """)
    let start = Statement(
        """
        UPDATE job
        SET    state = \(JobState.running), attempt = attempt + 1, started_ms = :now, holder_id = :holder
        WHERE  id = :job
        AND    state = \(JobState.ready)
        """)
    let input = Statement("SELECT input FROM job_input WHERE job_id = :job")
    /// A stop of the daemon says nothing about the job.
    let lastOutcome = Statement(
        """
        SELECT   outcome
        FROM     attempt
        WHERE    job_id = :job
        AND      outcome <> \(AttemptOutcome.interrupted)
        ORDER BY number DESC
        LIMIT    1
        """)
}
