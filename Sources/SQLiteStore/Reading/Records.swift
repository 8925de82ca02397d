import Jobs
import SQLite

extension Reader {
    func job(_ id: JobID, withInput: Bool = true) throws(SQLiteError) -> JobRecord? {
        try records.job.first([.job <- id]) { row in
            JobRecord(
                id: id, graph: row.graph(0), node: row.optionalString(1), definition: row.string(2),
                definitionRevision: Int(row.integer(3)), kind: row.string(4), queue: row.string(5),
                priority: Priority(rawValue: Int(row.integer(6))) ?? .normal,
                state: JobState(rawValue: Int(row.integer(7))) ?? .blocked, input: withInput ? row.json(8) : nil,
                attempt: Int(row.integer(9)), tries: Int(row.integer(10)), maxTries: Int(row.integer(11)),
                rescues: Int(row.integer(12)), pendingDependencies: Int(row.integer(13)),
                enqueuedAt: row.timestamp(14), dueAt: row.optionalTimestamp(15), startedAt: row.optionalTimestamp(16),
                finishedAt: row.optionalTimestamp(17), cancelRequestedAt: row.optionalTimestamp(18),
                repeats: row.optionalJob(19))
        }
    }

    func result(of job: JobID) throws(SQLiteError) -> JobResult? {
        try records.result.first([.job <- job]) { row in
            let value: JobResult.Value =
                if let failure = row.failure(from: 4) {
                    .ended(Outcome(rawValue: Int(row.integer(1))) ?? .failed, failure)
                } else {
                    .succeeded(row.json(3) ?? .emptyObject)
                }
            return JobResult(job: job, attempt: Int(row.integer(0)), value: value, finishedAt: row.timestamp(2))
        }
    }

    func attempts(of job: JobID) throws(SQLiteError) -> [AttemptRecord] {
        try records.attempts.all([.job <- job, .limit <- AttemptRecord.maxWithConnections]) { row in
            AttemptRecord(
                lease: Lease(job: job, attempt: Int(row.integer(0))),
                outcome: AttemptOutcome(rawValue: Int(row.integer(1))) ?? .failed, startedAt: row.timestamp(2),
                endedAt: row.timestamp(3), error: row.failure(from: 4), retryAt: row.optionalTimestamp(7),
                connections: row.json(8), usage: row.usage(9))
        }
    }

    func checkpoint(of job: JobID) throws(SQLiteError) -> Checkpoint? {
        try records.checkpoint.first([.job <- job]) { row in
            row.json(2).map { Checkpoint(attempt: Int(row.integer(0)), savedAt: row.timestamp(1), value: $0) }
        } ?? nil
    }
}

struct RecordStatements: StatementGroup {
    let job = Statement(
        """
        SELECT    job.graph_id, job.node, definition.name, definition.revision, definition.kind, queue.name,
                  job.priority, job.state, job_input.input, job.attempt, job.tries, definition.max_tries,
                  job.rescues, job.pending, job.enqueued_ms,
                  iif(job.state < \(JobState.ready) AND job.steady_ms IS NOT NULL,
                      job.steady_ms + (SELECT skew_ms FROM clock WHERE id = 1), job.due_ms),
                  job.started_ms, job.finished_ms, job.cancel_ms, job.repeats_id
        FROM      job
        JOIN      definition ON definition.id = job.definition_id
        JOIN      queue ON queue.id = job.queue_id
        LEFT JOIN job_input ON job_input.job_id = job.id
        WHERE     job.id = :job
        """)
    let result = Statement(
        """
        SELECT attempt, outcome, finished_ms, value, code, message, detail
        FROM   result
        WHERE  job_id = :job
        """)
    let attempts = Statement(
        """
        SELECT   number, outcome, started_ms, ended_ms, code, message, detail, retry_ms,
                 iif(number > (SELECT max(number) FROM attempt WHERE job_id = :job) - :limit, connections, NULL),
                 usage
        FROM     attempt
        WHERE    job_id = :job
        ORDER BY number
        """)
    let checkpoint = Statement("SELECT attempt, saved_ms, value FROM checkpoint WHERE job_id = :job")
}

extension Statement {
    /// Usage that cannot be read is left out: it is for people only.
    fileprivate func usage(_ column: Int32) -> AttemptUsage? {
        json(column).flatMap { try? AttemptUsage(json: $0, at: []) }
    }
}
