import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Records the ends of attempts, makes due jobs ready, and claims jobs.
    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now passed: Timestamp
    ) throws(PostgresError) -> Exchange {
        let now = time.now(passed)
        time.steady.notes(wall: now)
        let life = try state(of: holder)
        let finished = try finish(ends, by: holder, home: life.identity, now: now)
        let shares = try putOffShares()
        var nextDueAt = try self.nextDueAt(now: now)
        if let dueAt = nextDueAt, dueAt <= now {
            let promoted = try promoteDue(now: now)
            nextDueAt = try self.nextDueAt(now: now)
            // Another transaction has locked the due jobs, and no notification tells its end.
            if promoted == 0, let dueAt = nextDueAt { nextDueAt = max(dueAt, now + Self.lockedPause) }
        }
        var claimed: [ClaimedJob] = []
        if life.isAlive, life.drainedAt == nil, let claim {
            let answer = try self.claim(claim, holder, shares: shares, home: life.identity, now: now)
            claimed = answer.jobs
            let nextLook = answer.isTrialLocked ? now + Self.lockedPause : nil
            nextDueAt = [nextDueAt, nextLook].compactMap(\.self).min()
            try storeFloors(claimed: claimed.count)
        }
        // When a trial ends, the jobs that it held back may start, although no job becomes due then.
        if let end = trialsEndAt(now: now) { nextDueAt = min(nextDueAt ?? end, end) }
        // A notification may be lost, so a daemon beside others looks by itself from time to time.
        if isHeard, claim != nil { nextDueAt = min(nextDueAt ?? now + Self.longestWait, now + Self.longestWait) }
        return Exchange(
            finished: finished, claimed: claimed, nextDueAt: nextDueAt, isAlive: life.isAlive,
            drainedAt: life.drainedAt)
    }

    private static let longestWait = Duration.seconds(15)
    /// How long to wait before looking again at jobs that are locked.
    private static let lockedPause = Duration.milliseconds(100)

    /// The earlier of the next calendar time and the end of the next wait, both on the current wall clock.
    func nextDueAt(now: Timestamp) throws(PostgresError) -> Timestamp? {
        let steady = time.steady.moment
        let floors = memory.dueFloors.begin(now: now, steady: steady)
        let row = try run(Statements.nextDue, .time(floors.calendar), .time(floors.wait)).first
        let dueAt = row?.optionalTimestamp(0)
        let waitEnd = row?.optionalTimestamp(1)
        memory.dueFloors.advance(calendar: dueAt, wait: waitEnd, now: now, steady: steady)
        guard let waitEnd else { return dueAt }
        let waitEndsAt = now + (waitEnd - time.steady.moment)
        return dueAt.map { min($0, waitEndsAt) } ?? waitEndsAt
    }

    /// The time on the current wall clock at which the trials that hold up other jobs end; nil if no jobs are held up.
    func trialsEndAt(now: Timestamp) -> Timestamp? {
        if memory.trials.isEmpty { return nil }
        return memory.trials.holdsOthers(now: time.steady.moment).map { now + ($0 - time.steady.moment) }
    }

    func reportTrials(now passed: Timestamp) -> CrashTrials.Report? {
        let now = time.now(passed)
        var report = memory.trials.report(now: time.steady.moment)
        if let endsAt = report?.endsAt { report?.endsAt = now + (endsAt - time.steady.moment) }
        return report
    }

    /// Makes due jobs ready: at most 1,000 with a calendar time and 1,000 whose wait has ended. The next call finds the
    /// rest. A job with a calendar time counts as ready since that time, even if a daemon noticed later.
    ///
    /// - Returns: The number of jobs that were made ready. Locked rows are skipped.
    private func promoteDue(now: Timestamp) throws(PostgresError) -> Int {
        let floors = memory.dueFloors.begin(now: now, steady: time.steady.moment)
        let rows = try run(
            Statements.due, .time(now), .time(time.steady.moment), .time(floors.calendar), .time(floors.wait))
        if rows.count == 0 { return 0 }
        var due: [(job: JobID, lane: Int64, readySince: Timestamp)] = []
        try rows.forEach { (row) throws(PostgresError) in
            let lane = try lane(row.integer(1))
            let steady = row.optionalTimestamp(4)
            let readySince =
                steady ?? time.steady.moment + .milliseconds(-max(0, (now - row.timestamp(3)).milliseconds))
            due.append((row.job(0), try number(of: lane, .due), readySince))
            count(queue: lane.queue, graph: row.graph(2), from: .scheduled, to: .ready, now: now)
            note(row.job(0), graph: row.graph(2), state: .ready, attempt: row.int(5))
        }
        due.sort { $0.job < $1.job }
        try run(
            Statements.promote[half(.ready)], .jobs(due.map(\.job)), .integers(due.map(\.lane)),
            .times(due.map(\.readySince)))
        return due.count
    }

    private enum Statements {
        static let nextDue = Statement(
            """
            SELECT (SELECT   due_ms
                    FROM     halyard.scheduled
                    WHERE    steady_ms IS NULL
                    AND      due_ms >= $1::bigint
                    ORDER BY due_ms
                    LIMIT    1),
                   (SELECT   steady_ms
                    FROM     halyard.scheduled
                    WHERE    steady_ms >= $2::bigint
                    ORDER BY steady_ms
                    LIMIT    1)
            """)
        static let due = Statement(
            """
            SELECT job, lane, graph, due_ms, steady_ms, attempt
            FROM   (SELECT   *
                    FROM     halyard.scheduled
                    WHERE    steady_ms IS NULL
                    AND      due_ms BETWEEN $3::bigint AND $1::bigint
                    ORDER BY due_ms
                    LIMIT    1000
                    FOR UPDATE SKIP LOCKED) AS calendar
            UNION ALL
            SELECT job, lane, graph, due_ms, steady_ms, attempt
            FROM   (SELECT   *
                    FROM     halyard.scheduled
                    WHERE    steady_ms BETWEEN $4::bigint AND $2::bigint
                    ORDER BY steady_ms
                    LIMIT    1000
                    FOR UPDATE SKIP LOCKED) AS wait
            """)
        /// The jobs are sorted.
        static let promote = HotTable.ready.halves { name, half in
            Statement(
                """
                WITH taken AS (
                    DELETE FROM halyard.scheduled
                    WHERE job = ANY ($1::bigint[])
                    RETURNING job, ($2::bigint[])[width_bucket(job, $1::bigint[])], graph, attempt, tries, rescues,
                              due_ms, ($3::bigint[])[width_bucket(job, $1::bigint[])], started_ms
                )
                INSERT INTO halyard.\(name) (job, lane, graph, attempt, tries, rescues, due_ms, steady_ms, started_ms, txid,
                                           half)
                SELECT *, pg_current_xact_id()::text::bigint, \(half)
                FROM   taken
                """)
        }
    }
}
