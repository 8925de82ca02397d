import Jobs
import SQLite

extension Reader {
    func job(_ id: JobID, withInput: Bool = true) throws(SQLiteError) -> JobRecord? {
        records.job.bind(1, id.rawValue)
        guard try records.job.step() else { return nil }
        defer { records.job.reset() }
        return JobRecord(
            id: id, graph: records.job.optionalInteger(0).map(GraphID.init(_:)), node: records.job.optionalString(1),
            definition: records.job.string(2), definitionRevision: Int(records.job.integer(3)),
            kind: records.job.string(4),
            queue: records.job.string(5), priority: Priority(rawValue: Int(records.job.integer(6))) ?? .normal,
            state: JobState(rawValue: Int(records.job.integer(7))) ?? .blocked,
            input: withInput ? records.job.json(8) : nil,
            attempt: Int(records.job.integer(9)), tries: Int(records.job.integer(10)),
            maxTries: Int(records.job.integer(11)),
            rescues: Int(records.job.integer(12)), pendingDependencies: Int(records.job.integer(13)),
            enqueuedAt: Timestamp(milliseconds: records.job.integer(14)), dueAt: records.job.timestamp(15),
            startedAt: records.job.timestamp(16), finishedAt: records.job.timestamp(17),
            cancelRequestedAt: records.job.timestamp(18),
            repeats: records.job.optionalInteger(19).map(JobID.init(_:)))
    }

    func result(of job: JobID) throws(SQLiteError) -> JobResult? {
        records.result.bind(1, job.rawValue)
        guard try records.result.step() else { return nil }
        defer { records.result.reset() }
        let value: JobResult.Value
        if let failure = records.result.failure(from: 4) {
            value = .ended(Outcome(rawValue: Int(records.result.integer(1))) ?? .failed, failure)
        } else {
            value = .succeeded(records.result.json(3) ?? .emptyObject)
        }
        return JobResult(
            job: job, attempt: Int(records.result.integer(0)), value: value,
            finishedAt: Timestamp(milliseconds: records.result.integer(2)))
    }

    func attempts(of job: JobID) throws(SQLiteError) -> [AttemptRecord] {
        var attempts: [AttemptRecord] = []
        records.attempts.bind(1, job.rawValue)
        records.attempts.bind(2, AttemptRecord.maxWithConnections)
        while try records.attempts.step() {
            attempts.append(
                AttemptRecord(
                    lease: Lease(job: job, attempt: Int(records.attempts.integer(0))),
                    outcome: AttemptOutcome(rawValue: Int(records.attempts.integer(1))) ?? .failed,
                    startedAt: Timestamp(milliseconds: records.attempts.integer(2)),
                    endedAt: Timestamp(milliseconds: records.attempts.integer(3)),
                    error: records.attempts.failure(from: 4), retryAt: records.attempts.timestamp(7),
                    connections: records.attempts.json(8)))
        }
        return attempts
    }
}

extension Statement {
    func condition(_ column: Int32) -> DependencyCondition {
        DependencyCondition(rawValue: Int(integer(column))) ?? .succeeded
    }
}

struct RecordStatements: ~Copyable {
    static let jobSQL: SQL = """
        SELECT    job.graph_id, job.node, definition.name, definition.revision, definition.kind, queue.name,
                  job.priority, job.state, job_input.input, job.attempt, job.tries, definition.max_tries,
                  job.rescues, job.pending, job.enqueued_ms,
                  iif(job.state < 2 AND job.steady_ms IS NOT NULL,
                      job.steady_ms + (SELECT skew_ms FROM clock WHERE id = 1), job.due_ms),
                  job.started_ms, job.finished_ms, job.cancel_ms, job.repeats_id
        FROM      job
        JOIN      definition ON definition.id = job.definition_id
        JOIN      queue ON queue.id = job.queue_id
        LEFT JOIN job_input ON job_input.job_id = job.id
        WHERE     job.id = :job
        """
    static let resultSQL: SQL = """
        SELECT attempt, outcome, finished_ms, value, code, message, detail
        FROM   result
        WHERE  job_id = :job
        """
    static let attemptsSQL: SQL = """
        SELECT   number, outcome, started_ms, ended_ms, code, message, detail, retry_ms,
                 iif(number > (SELECT max(number) FROM attempt WHERE job_id = ?1) - ?2, connections, NULL)
        FROM     attempt
        WHERE    job_id = ?1
        ORDER BY number
        """

    let job: Statement
    let result: Statement
    let attempts: Statement

    init(_ connection: Connection) {
        job = connection.prepare(Self.jobSQL)
        result = connection.prepare(Self.resultSQL)
        attempts = connection.prepare(Self.attemptsSQL)
    }
}
