import Jobs
import SQLite

extension Writer {
    /// Deletes units that a reader found to be final, in the reader's order. A final state never changes, so this
    /// checks only for dependents. Results, attempts, inputs and edges are deleted with their jobs.
    ///
    /// - Returns: How many jobs were deleted, and how many stay because other jobs depend on them.
    func prune(_ units: [PruneUnit]) throws(SQLiteError) -> (deleted: Int, kept: Int) {
        var deleted = 0
        var kept = 0
        for unit in units {
            let answer =
                switch unit {
                case .job(let job): try prune(job)
                case .graph(let graph, _): try prune(graph)
                }
            deleted += answer.deleted
            kept += answer.kept
        }
        if deleted > 0 { try keepNumbers() }
        return (deleted, kept)
    }

    /// Stores the next numbers, since the highest numbers may no longer be in the tables but must not be reused.
    func keepNumbers() throws(SQLiteError) {
        pruning.keepNumbers.bind(1, memory.nextJob)
        pruning.keepNumbers.bind(2, memory.nextGraph)
        try pruning.keepNumbers.run()
    }

    private func prune(_ job: JobID) throws(SQLiteError) -> (deleted: Int, kept: Int) {
        pruning.job.bind(1, job.rawValue)
        // Another prune has already deleted the job.
        guard try pruning.job.step() else { return (0, 0) }
        let gone = Gone(
            job: job.rawValue, state: Int(pruning.job.integer(0)), queue: pruning.job.integer(1))
        let hasDependents = pruning.job.integer(2) != 0
        pruning.job.reset()
        if hasDependents || isNeeded(job) { return (0, 1) }
        pruning.delete.bind(1, job.rawValue)
        try pruning.delete.run()
        try forget([gone])
        return (1, 0)
    }

    private func prune(_ graph: GraphID) throws(SQLiteError) -> (deleted: Int, kept: Int) {
        pruning.hasDependents.bind(1, graph.rawValue)
        let hasDependents = try pruning.hasDependents.step()
        pruning.hasDependents.reset()
        var gone: [Gone] = []
        pruning.jobs.bind(1, graph.rawValue)
        while try pruning.jobs.step() {
            gone.append(
                Gone(
                    job: pruning.jobs.integer(0), state: Int(pruning.jobs.integer(1)), queue: pruning.jobs.integer(2)))
        }
        if hasDependents || gone.contains(where: { isNeeded(JobID($0.job)) }) { return (0, gone.count) }
        pruning.deleteJobs.bind(1, graph.rawValue)
        try pruning.deleteJobs.run()
        pruning.deleteGraph.bind(1, graph.rawValue)
        try pruning.deleteGraph.run()
        try forget(gone)
        return (gone.count, 0)
    }

    struct Gone {
        let job: Int64
        let state: Int
        let queue: Int64
    }

    /// Subtracts deleted jobs from the counts. Deletes their idempotency key once no job of that key is left.
    func forget(_ jobs: [Gone]) throws(SQLiteError) {
        for job in jobs {
            // The schema allows no other state.
            guard let state = JobState(rawValue: job.state) else { continue }
            let queue = try memory.queueIndex(id: job.queue)
            memory.count(queue: queue) { $0[state] -= 1 }
        }
        guard let first = jobs.first else { return }
        pruning.deleteKey.bind(1, first.job)
        try pruning.deleteKey.run()
    }
}

struct PruneStatements: ~Copyable {
    static let jobSQL: SQL = """
        SELECT state, queue_id,
               EXISTS (SELECT 1 FROM dependency INDEXED BY dependency_dependents WHERE dependency_id = job.id)
        FROM   job
        WHERE  id = :job
        """
    static let deleteSQL: SQL = "DELETE FROM job WHERE id = :job"
    /// Returns a row if a job outside the graph depends on a job in it.
    static let hasDependentsSQL: SQL = """
        SELECT     1
        FROM       job INDEXED BY job_graph
        CROSS JOIN dependency INDEXED BY dependency_dependents ON dependency.dependency_id = job.id
        CROSS JOIN job AS dependent ON dependent.id = dependency.dependent_id
        WHERE      job.graph_id = ?1
        AND        dependent.graph_id IS NOT ?1
        LIMIT      1
        """
    static let jobsSQL: SQL = """
        SELECT   id, state, queue_id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        ORDER BY id
        """
    static let deleteJobsSQL: SQL = "DELETE FROM job INDEXED BY job_graph WHERE graph_id = :graph"
    static let insertSQL: SQL = "INSERT INTO pruning (graph_id) VALUES (:graph)"
    static let forgetSQL: SQL = "DELETE FROM pruning WHERE graph_id = :graph"
    static let numbersSQL: SQL = """
        SELECT (SELECT min(id) FROM job INDEXED BY job_graph WHERE graph_id = ?1),
               (SELECT max(id) FROM job INDEXED BY job_graph WHERE graph_id = ?1)
        """
    static let someJobsSQL: SQL = """
        SELECT   id, state, queue_id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?1
        AND      id > ?2
        ORDER BY id
        LIMIT    ?3
        """
    /// A job depends only on older jobs and on jobs of its own graph. So a dependent outside the graph has a higher
    /// number than all jobs of the graph.
    static let hasLaterDependentsSQL: SQL = """
        SELECT 1
        FROM   dependency INDEXED BY dependency_dependents
        WHERE  dependency_id = :job
        AND    condition = :condition
        AND    dependent_id > :last
        LIMIT  1
        """
    static let someEdgesSQL: SQL = """
        SELECT dependent_id, position
        FROM   dependency
        WHERE  dependent_id BETWEEN :first AND :last
        LIMIT  :limit
        """
    static let deleteEdgeSQL: SQL = "DELETE FROM dependency WHERE dependent_id = :job AND position = :position"
    static let deleteGraphSQL: SQL = "DELETE FROM graph WHERE id = :graph"
    /// Deletes the key under which the job was enqueued, if no job of the key is left.
    static let deleteKeySQL: SQL = """
        DELETE FROM idempotency
        WHERE  first_job_id = (
                   SELECT   first_job_id
                   FROM     idempotency
                   WHERE    first_job_id <= :job
                   ORDER BY first_job_id DESC
                   LIMIT    1)
        AND    :job < first_job_id + jobs
        AND    NOT EXISTS (SELECT 1 FROM job WHERE id >= first_job_id AND id < first_job_id + jobs)
        """
    static let keepNumbersSQL: SQL = "UPDATE meta SET next_job_id = ?1, next_graph_id = ?2"

    let job: Statement
    let delete: Statement
    let hasDependents: Statement
    let jobs: Statement
    let deleteJobs: Statement
    let deleteGraph: Statement
    let deleteKey: Statement
    let keepNumbers: Statement
    let insert: Statement
    let forget: Statement
    let numbers: Statement
    let someJobs: Statement
    let hasLaterDependents: Statement
    let someEdges: Statement
    let deleteEdge: Statement

    init(_ connection: Connection) {
        job = connection.prepare(Self.jobSQL)
        delete = connection.prepare(Self.deleteSQL)
        hasDependents = connection.prepare(Self.hasDependentsSQL)
        jobs = connection.prepare(Self.jobsSQL)
        deleteJobs = connection.prepare(Self.deleteJobsSQL)
        deleteGraph = connection.prepare(Self.deleteGraphSQL)
        deleteKey = connection.prepare(Self.deleteKeySQL)
        keepNumbers = connection.prepare(Self.keepNumbersSQL)
        insert = connection.prepare(Self.insertSQL)
        forget = connection.prepare(Self.forgetSQL)
        numbers = connection.prepare(Self.numbersSQL)
        someJobs = connection.prepare(Self.someJobsSQL)
        hasLaterDependents = connection.prepare(Self.hasLaterDependentsSQL)
        someEdges = connection.prepare(Self.someEdgesSQL)
        deleteEdge = connection.prepare(Self.deleteEdgeSQL)
    }
}
