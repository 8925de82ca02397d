import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Cancels all the jobs before it settles their dependents. Otherwise one job of the request could be skipped, or
    /// started, because of another job of the same request.
    ///
    /// - Returns: One result for each job, in order.
    /// - Throws: A conflict if a job moved from one table to another meanwhile; the transaction is then repeated.
    func cancel(_ jobs: [JobID], now passed: Timestamp) throws(PostgresError) -> [CancelResult] {
        let now = time.now(passed)
        var results: [JobID: CancelResult] = [:]
        var notes: [JobID: JobChange] = [:]
        var cancelled: [FinalJob] = []
        let (low, high) = Argument.bounds(jobs)
        let exists = try run(Statements.existing, .jobs(Set(jobs).sorted()), low, high).map { $0.job(0) }
        if !exists.isEmpty {
            // Locks rows in the order of states from last to first, and of numbers, as the end of an attempt does.
            try run(Statements.running, .jobs(exists), .time(now)).forEach { row in
                results[row.job(0)] = .requested
                notes[row.job(0)] = JobChange(
                    job: row.job(0), graph: row.graph(1), state: .running, attempt: row.int(2), isCancelRequest: true)
            }
            let all = exists.map { FinalJob(job: $0, outcome: .cancelled) }
            for (state, statement) in Statements.open {
                if state == .blocked { try lockDependents(of: all, and: Set(exists)) }
                var done: [DoneRow] = []
                try run(statement, .jobs(exists)).forEach { (row) throws(PostgresError) in
                    let open = OpenRow(row)
                    done.append(
                        DoneRow(
                            open, .cancelled, attempt: 0, pending: row.int(9), value: nil,
                            failure: .cancelledBeforeStart, cancelAt: now))
                    results[open.job] = .cancelled
                    cancelled.append(FinalJob(job: open.job, outcome: .cancelled))
                    count(queue: try lane(open.lane).queue, graph: open.graph, from: state, to: .cancelled, now: now)
                    notes[open.job] = JobChange(
                        job: open.job, graph: open.graph, state: .cancelled, attempt: open.attempt, cause: .cancelled)
                }
                try recordDone(done, now: now)
            }
            let rest = exists.filter { results[$0] == nil }
            if !rest.isEmpty {
                try run(Statements.requested, .jobs(rest)).forEach { results[$0.job(0)] = .requested }
                try run(Statements.done, .jobs(rest), low, high).forEach { row in
                    if let outcome = row.state(1).outcome { results[row.job(0)] = .alreadyFinal(outcome) }
                }
            }
            // Another look now would take locks out of order.
            if exists.contains(where: { results[$0] == nil }) {
                throw PostgresError(
                    .refused, sqlState: SQLState.serialization, message: "a job changed its state meanwhile")
            }
        }
        var seen: Set<JobID> = []
        let answers = jobs.map { job -> CancelResult in
            let result = results[job] ?? .unknown
            guard seen.insert(job).inserted else { return result == .cancelled ? .alreadyFinal(.cancelled) : result }
            if isObserved, let note = notes[job] { jobChanges.append(note) }
            return result
        }
        try settle(cancelled, now: now)
        return answers
    }

    /// Cancels the open jobs of a graph.
    ///
    /// - Returns: The result of each open job. Nil if the graph does not exist.
    func cancel(graph: GraphID, now: Timestamp) throws(PostgresError) -> [JobID: CancelResult]? {
        guard let row = try run(Statements.graph, .graph(graph)).first else { return nil }
        let jobs = try run(Statements.openJobs, .job(row.job(0)), .job(row.job(1))).map { $0.job(0) }
        let results = try cancel(jobs, now: now)
        var open: [JobID: CancelResult] = [:]
        for (job, result) in zip(jobs, results) {
            // Another transaction has just ended the job.
            if case .alreadyFinal = result { continue }
            open[job] = result
        }
        return open
    }

    private enum Statements {
        static let existing = Statement(
            "SELECT id FROM halyard.job WHERE id = ANY ($1::bigint[]) AND id BETWEEN $2::bigint AND $3::bigint")
        static let open: [(JobState, Statement)] = [
            (.ready, delete("ready", pending: "0")), (.scheduled, delete("scheduled", pending: "0")),
            (.blocked, delete("blocked", pending: "pending")),
        ]
        /// The count makes the server lock all rows, in order, before it changes the first one.
        static let running = Statement(
            """
            WITH locked AS MATERIALIZED (
                SELECT   job
                FROM     halyard.running
                WHERE    job = ANY ($1::bigint[])
                AND      cancel_ms IS NULL
                ORDER BY job
                FOR NO KEY UPDATE
            )
            UPDATE halyard.running
            SET    cancel_ms = $2::bigint
            WHERE  job = ANY ($1::bigint[])
            AND    cancel_ms IS NULL
            AND    (SELECT count(*) FROM locked) > 0
            RETURNING job, graph, attempt
            """)
        /// Jobs of earlier requests. Others may have been claimed since the first statement.
        static let requested = Statement(
            "SELECT job FROM halyard.running WHERE job = ANY ($1::bigint[]) AND cancel_ms IS NOT NULL")
        static let done = Statement(
            """
            SELECT job, outcome
            FROM   halyard.done
            WHERE  job = ANY ($1::bigint[])
            AND    job BETWEEN $2::bigint AND $3::bigint
            """)
        static let graph = Statement(
            "SELECT first_job, first_job + jobs - 1 FROM halyard.graph WHERE id = $1::bigint")
        static let openJobs = Statement(
            """
            SELECT   job.id
            FROM     halyard.job
            WHERE    job.id BETWEEN $1::bigint AND $2::bigint
            AND      NOT EXISTS (SELECT 1
                                 FROM   halyard.done
                                 WHERE  done.job = job.id
                                 AND    done.job BETWEEN $1::bigint AND $2::bigint)
            ORDER BY job.id
            """)

        private static func delete(_ table: String, pending: String) -> Statement {
            Statement(
                """
                WITH locked AS MATERIALIZED (
                    SELECT   1
                    FROM     halyard.\(table)
                    WHERE    job = ANY ($1::bigint[])
                    ORDER BY job
                    FOR UPDATE
                )
                DELETE FROM halyard.\(table)
                WHERE job = ANY ($1::bigint[])
                AND   (SELECT count(*) FROM locked) > 0
                RETURNING \(OpenRow.columns), \(pending)::bigint
                """)
        }
    }
}
