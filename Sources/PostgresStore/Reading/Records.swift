import Jobs
import PostgreSQL

extension Reader {
    func jobs(_ ids: [JobID], withInputs: Bool) throws(PostgresError) -> [JobID: JobRecord] {
        var records: [JobID: JobRecord] = [:]
        let (low, high) = Argument.bounds(ids)
        try run(Statements.jobs, .jobs(ids), .boolean(withInputs), low, high).forEach { row in
            let record = JobRecord(
                id: row.job(0), graph: row.graph(1), node: row.optionalString(2), definition: row.string(3),
                definitionRevision: row.int(4), kind: row.string(5), queue: row.string(6),
                priority: Priority(rawValue: row.int(7)) ?? .normal, state: row.state(8), input: row.json(9),
                attempt: row.int(10), tries: row.int(11), maxTries: row.int(12), rescues: row.int(13),
                pendingDependencies: row.int(14), enqueuedAt: row.timestamp(15), dueAt: row.optionalTimestamp(16),
                startedAt: row.optionalTimestamp(17), finishedAt: row.optionalTimestamp(18),
                cancelRequestedAt: row.optionalTimestamp(19), repeats: row.optionalJob(20))
            records[record.id] = record
        }
        return records
    }

    func job(_ id: JobID) throws(PostgresError) -> JobRecord? { try jobs([id], withInputs: true)[id] }

    func existing(_ jobs: [JobID]) throws(PostgresError) -> Set<JobID> {
        let (low, high) = Argument.bounds(jobs)
        return Set(try run(Statements.existing, .jobs(jobs), low, high).map { $0.job(0) })
    }

    func result(of job: JobID) throws(PostgresError) -> JobResult? {
        try run(Statements.result, .job(job)).first.map { row in
            let value: JobResult.Value =
                if let failure = row.failure(from: 4) {
                    .ended(Outcome(rawValue: row.int(1)) ?? .failed, failure)
                } else {
                    .succeeded(row.json(3) ?? .emptyObject)
                }
            return JobResult(job: job, attempt: row.int(0), value: value, finishedAt: row.timestamp(2))
        }
    }

    func attempts(of job: JobID) throws(PostgresError) -> [AttemptRecord] {
        var records = try run(Statements.attempts, .job(job)).map { row in
            AttemptRecord(
                lease: Lease(job: job, attempt: row.int(0)),
                outcome: AttemptOutcome(rawValue: row.int(1)) ?? .failed, startedAt: row.timestamp(2),
                endedAt: row.timestamp(3), error: row.failure(from: 4), retryAt: row.optionalTimestamp(7),
                connections: row.json(8), usage: row.usage(9))
        }
        for index in records.indices.dropLast(AttemptRecord.maxWithConnections) { records[index].connections = nil }
        return records
    }

    private enum Statements {
        static let existing = Statement(
            "SELECT id FROM halyard.job WHERE id = ANY ($1::bigint[]) AND id BETWEEN $2::bigint AND $3::bigint")
        static let jobs = Statement(
            """
            SELECT record.id, record.graph, record.node, definition.name, definition.revision, definition.kind,
                   queue.name, record.priority, record.state, CASE WHEN $2::boolean THEN record.input END,
                   record.attempt, record.tries, definition.max_tries, record.rescues, record.pending,
                   record.enqueued_ms, record.due_ms, record.started_ms, record.finished_ms, record.cancel_ms,
                   record.repeats
            FROM   halyard.record
            JOIN   halyard.definition ON definition.id = record.definition
            JOIN   halyard.queue ON queue.id = record.queue
            WHERE  record.id = ANY ($1::bigint[])
            AND    record.id BETWEEN $3::bigint AND $4::bigint
            """)
        static let result = Statement(
            """
            SELECT attempt, outcome, finished_ms, value, code, message, detail
            FROM   halyard.done
            WHERE  job = $1::bigint
            """)
        static let attempts = Statement(
            """
            SELECT   number, outcome, started_ms, ended_ms, code, message, detail, retry_ms, connections, usage
            FROM     halyard.attempt
            WHERE    job = $1::bigint
            UNION ALL
            SELECT   attempt, \(AttemptOutcome.succeeded.rawValue), started_ms, finished_ms, NULL, NULL, NULL, NULL,
                     connections, usage
            FROM     halyard.done
            WHERE    job = $1::bigint
            AND      outcome = \(Outcome.succeeded.rawValue)
            ORDER BY 1
            """)
    }
}

extension Row {
    /// Usage that cannot be read is left out: it is for people only.
    fileprivate func usage(_ column: Int) -> AttemptUsage? {
        json(column).flatMap { try? AttemptUsage(json: $0, at: []) }
    }
}
