import Jobs
import SQLite

extension Reader {
    func job(_ id: JobID) throws(SQLiteError) -> JobRecord? {
        records.job.bind(1, id.rawValue)
        guard try records.job.step() else { return nil }
        defer { records.job.reset() }
        return JobRecord(
            id: id, graph: records.job.optionalInteger(0).map(GraphID.init(_:)), node: records.job.optionalString(1),
            definition: records.job.string(2), definitionRevision: Int(records.job.integer(3)),
            kind: records.job.string(4),
            queue: records.job.string(5), priority: Priority(rawValue: Int(records.job.integer(6))) ?? .normal,
            state: JobState(rawValue: Int(records.job.integer(7))) ?? .blocked, input: records.job.json(8),
            attempt: Int(records.job.integer(9)), tries: Int(records.job.integer(10)),
            maxAttempts: Int(records.job.integer(11)),
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
        while try records.attempts.step() {
            attempts.append(
                AttemptRecord(
                    lease: Lease(job: job, attempt: Int(records.attempts.integer(0))),
                    outcome: AttemptOutcome(rawValue: Int(records.attempts.integer(1))) ?? .failed,
                    startedAt: Timestamp(milliseconds: records.attempts.integer(2)),
                    endedAt: Timestamp(milliseconds: records.attempts.integer(3)),
                    failure: records.attempts.failure(from: 4), retryAt: records.attempts.timestamp(7)))
        }
        return attempts
    }

    func dependencies(of job: JobID) throws(SQLiteError) -> [DependencyRecord] {
        var edges: [DependencyRecord] = []
        records.dependencies.bind(1, job.rawValue)
        while try records.dependencies.step() {
            edges.append(
                DependencyRecord(
                    dependent: job, dependency: JobID(records.dependencies.integer(0)),
                    condition: records.dependencies.condition(1)))
        }
        return edges
    }

    func dependents(of job: JobID) throws(SQLiteError) -> [DependencyRecord] {
        var edges: [DependencyRecord] = []
        records.dependents.bind(1, job.rawValue)
        while try records.dependents.step() {
            edges.append(
                DependencyRecord(
                    dependent: JobID(records.dependents.integer(0)), dependency: job,
                    condition: records.dependents.condition(1)))
        }
        return edges
    }

    func outputs(ofDependenciesOf job: JobID) throws(SQLiteError) -> [DependencyOutput] {
        var outputs: [DependencyOutput] = []
        records.outputs.bind(1, job.rawValue)
        while try records.outputs.step() {
            outputs.append(
                DependencyOutput(
                    dependency: JobID(records.outputs.integer(0)), kind: records.outputs.string(1),
                    output: records.outputs.json(2)))
        }
        return outputs
    }
}

extension Statement {
    func condition(_ column: Int32) -> DependencyCondition {
        DependencyCondition(rawValue: Int(integer(column))) ?? .succeeded
    }
}

struct RecordStatements: ~Copyable {
    static let jobSQL: StaticString = """
        SELECT    job.graph_id, job.node, definition.name, definition.revision, definition.kind, queue.name,
                  job.priority, job.state, job_input.input, job.attempt, job.tries, definition.max_attempts,
                  job.rescues, job.pending, job.enqueued_ms, job.due_ms, job.started_ms, job.finished_ms,
                  job.cancel_ms, job.repeats_id
        FROM      job
        JOIN      definition ON definition.id = job.definition_id
        JOIN      queue ON queue.id = job.queue_id
        LEFT JOIN job_input ON job_input.job_id = job.id
        WHERE     job.id = :job
        """
    static let resultSQL: StaticString = """
        SELECT attempt, outcome, finished_ms, value, code, message, detail
        FROM   result
        WHERE  job_id = :job
        """
    static let attemptsSQL: StaticString = """
        SELECT   number, outcome, started_ms, ended_ms, code, message, detail, retry_ms
        FROM     attempt
        WHERE    job_id = :job
        ORDER BY number
        """
    static let dependenciesSQL: StaticString = """
        SELECT   parent_id, condition
        FROM     dependency
        WHERE    job_id = :job
        ORDER BY position
        """
    static let dependentsSQL: StaticString = """
        SELECT   job_id, condition
        FROM     dependency INDEXED BY dependency_parent
        WHERE    parent_id = :job
        ORDER BY job_id
        """
    static let outputsSQL: StaticString = """
        SELECT    dependency.parent_id, definition.kind, result.value
        FROM      dependency
        JOIN      job AS parent ON parent.id = dependency.parent_id
        JOIN      definition ON definition.id = parent.definition_id
        LEFT JOIN result ON result.job_id = dependency.parent_id
        WHERE     dependency.job_id = :job
        ORDER BY  dependency.position
        """

    let job: Statement
    let result: Statement
    let attempts: Statement
    let dependencies: Statement
    let dependents: Statement
    let outputs: Statement

    init(_ connection: Connection) {
        job = connection.prepare(Self.jobSQL)
        result = connection.prepare(Self.resultSQL)
        attempts = connection.prepare(Self.attemptsSQL)
        dependencies = connection.prepare(Self.dependenciesSQL)
        dependents = connection.prepare(Self.dependentsSQL)
        outputs = connection.prepare(Self.outputsSQL)
    }
}
