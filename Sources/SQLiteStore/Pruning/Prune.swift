import Jobs
import SQLite
import StoreParts

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
        try pruning.keepNumbers.run([.job <- memory.nextJob, .graph <- memory.nextGraph])
    }

    private func prune(_ job: JobID) throws(SQLiteError) -> (deleted: Int, kept: Int) {
        let found = try pruning.job.first([.job <- job]) { (gone: Gone($0), hasDependents: $0.integer(3) != 0) }
        // Another prune has already deleted the job.
        guard let found else { return (0, 0) }
        if found.hasDependents || isNeeded(job) { return (0, 1) }
        try pruning.delete.run([.job <- job])
        try forget([found.gone])
        return (1, 0)
    }

    private func prune(_ graph: GraphID) throws(SQLiteError) -> (deleted: Int, kept: Int) {
        let gone = try jobs(of: graph, after: JobID(0), limit: -1)
        let hasDependents = try pruning.hasDependents.exists([.graph <- graph])
        if hasDependents || gone.contains(where: { isNeeded($0.job) }) { return (0, gone.count) }
        try pruning.deleteJobs.run([.graph <- graph])
        try pruning.deleteGraph.run([.graph <- graph])
        try forget(gone)
        return (gone.count, 0)
    }

    struct Gone {
        let job: JobID
        let state: Int
        let queue: Int64

        init(_ row: Statement) {
            job = row.job(0)
            state = Int(row.integer(1))
            queue = row.integer(2)
        }
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
        try pruning.deleteKey.run([.job <- first.job])
    }
}

struct PruneStatements: StatementGroup {
    let job = Statement(
        """
        SELECT id, state, queue_id,
               EXISTS (SELECT 1 FROM dependency INDEXED BY dependency_dependents WHERE dependency_id = job.id)
        FROM   job
        WHERE  id = :job
        """)
    let delete = Statement("DELETE FROM job WHERE id = :job")
    /// Returns a row if a job outside the graph depends on a job in it.
    let hasDependents = Statement(
        """
        SELECT     1
        FROM       job INDEXED BY job_graph
        CROSS JOIN dependency INDEXED BY dependency_dependents ON dependency.dependency_id = job.id
        CROSS JOIN job AS dependent ON dependent.id = dependency.dependent_id
        WHERE      job.graph_id = :graph
        AND        dependent.graph_id IS NOT :graph
        LIMIT      1
        """)
    let deleteJobs = Statement("DELETE FROM job INDEXED BY job_graph WHERE graph_id = :graph")
    let insert = Statement("INSERT INTO pruning (graph_id) VALUES (:graph)")
    let forget = Statement("DELETE FROM pruning WHERE graph_id = :graph")
    let numbers = Statement(
        """
        SELECT (SELECT min(id) FROM job INDEXED BY job_graph WHERE graph_id = :graph),
               (SELECT max(id) FROM job INDEXED BY job_graph WHERE graph_id = :graph)
        """)
    let jobs = Statement(
        """
        SELECT   id, state, queue_id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        AND      id > :after
        ORDER BY id
        LIMIT    :limit
        """)
    /// A job depends only on older jobs and on jobs of its own graph. So a dependent outside the graph has a higher
    /// number than all jobs of the graph.
    let hasLaterDependents = Statement(
        """
        SELECT 1
        FROM   dependency INDEXED BY dependency_dependents
        WHERE  dependency_id = :job
        AND    condition = :condition
        AND    dependent_id > :last
        LIMIT  1
        """)
    let someEdges = Statement(
        """
        SELECT dependent_id, position
        FROM   dependency
        WHERE  dependent_id BETWEEN :first AND :last
        LIMIT  :limit
        """)
    let deleteEdge = Statement("DELETE FROM dependency WHERE dependent_id = :dependent AND position = :position")
    let deleteGraph = Statement("DELETE FROM graph WHERE id = :graph")
    /// Deletes the key under which the job was enqueued, if no job of the key is left.
    let deleteKey = Statement(
        """
        DELETE FROM idempotency
        WHERE  first_job_id = (
                   SELECT   first_job_id
                   FROM     idempotency
                   WHERE    first_job_id <= :job
                   ORDER BY first_job_id DESC
                   LIMIT    1)
        AND    :job < first_job_id + jobs
        AND    NOT EXISTS (SELECT 1 FROM job WHERE id >= first_job_id AND id < first_job_id + jobs)
        """)
    let keepNumbers = Statement("UPDATE meta SET next_job_id = :job, next_graph_id = :graph")
}
