import Jobs
import SQLite

/// The columns of a ready job that a claim needs.
struct ReadyJob {
    let id: JobID
    /// The time since which the job has been ready, on the steady scale.
    let readySince: Timestamp
    /// The number of the last attempt.
    let attempt: Int
    let tries: Int
    let definition: DefinitionID
    let graph: GraphID?
    let hasDependencies: Bool

    init(_ row: Statement) {
        id = row.job(0)
        readySince = row.timestamp(1)
        attempt = Int(row.integer(2))
        tries = Int(row.integer(3))
        definition = DefinitionID(row.integer(4))
        graph = row.graph(5)
        hasDependencies = row.integer(6) > 0
    }

    var place: ReadyKey { ReadyKey(readySince: readySince, job: id) }
}

/// Iterates over the ready jobs of one queue and one priority, longest ready first.
struct ReadyCursor: StatementGroup {
    let priority: Priority
    let ready = Statement(
        """
        SELECT   id, steady_ms, attempt, tries, definition_id, graph_id, dependencies
        FROM     job INDEXED BY job_ready
        WHERE    state = \(JobState.ready)
        AND      queue_id = :queue
        AND      priority = :priority
        ORDER BY steady_ms, id
        """)
    /// Very many jobs may be ready since the same moment. SQLite compares only the first of two columns through the index
    /// if the second is the row's number, so the rest of that moment has its own search.
    let readyBehind = Statement(
        """
        SELECT   id, steady_ms, attempt, tries, definition_id, graph_id, dependencies
        FROM     job INDEXED BY job_ready
        WHERE    state = \(JobState.ready)
        AND      queue_id = :queue
        AND      priority = :priority
        AND      steady_ms = :steady
        AND      id > :job
        UNION ALL
        SELECT   id, steady_ms, attempt, tries, definition_id, graph_id, dependencies
        FROM     job INDEXED BY job_ready
        WHERE    state = \(JobState.ready)
        AND      queue_id = :queue
        AND      priority = :priority
        AND      steady_ms > :steady
        ORDER BY steady_ms, id
        """)

    init(_ priority: Priority) { self.priority = priority }

    func first(queue: Int64) throws(SQLiteError) -> ReadyJob? {
        try ready.bind([.queue <- queue, .priority <- priority])
        return try next()
    }

    func next() throws(SQLiteError) -> ReadyJob? { try ready.step() ? ReadyJob(ready) : nil }

    func first(queue: Int64, behind place: ReadyKey) throws(SQLiteError) -> ReadyJob? {
        readyBehind.reset()
        try readyBehind.bind([
            .queue <- queue, .priority <- priority, .steady <- place.readySince, .job <- place.job,
        ])
        return try nextBehind()
    }

    func nextBehind() throws(SQLiteError) -> ReadyJob? { try readyBehind.step() ? ReadyJob(readyBehind) : nil }

    func reset() {
        ready.reset()
        readyBehind.reset()
    }
}
