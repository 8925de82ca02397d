import Jobs
import SQLite

extension Writer {
    /// Deletes jobs that a reader found to be prunable. Final states never change, so only new dependents are looked for
    /// again; results, attempts, inputs and edges go with their job.
    func prune(_ jobs: [JobID]) throws(SQLiteError) -> Int {
        var deleted = 0
        for job in jobs {
            pruning.job.bind(1, job.rawValue)
            guard try pruning.job.step() else { continue }
            let state = JobState(rawValue: Int(pruning.job.integer(0)))
            let queue = memory.queueIndex(id: pruning.job.integer(1))
            let graph = pruning.job.optionalInteger(2).map(GraphID.init(_:))
            let hasOpenDependents = pruning.job.integer(3) != 0
            pruning.job.reset()
            guard let state, state.isFinal, !hasOpenDependents else { continue }
            pruning.delete.bind(1, job.rawValue)
            try pruning.delete.run()
            pruning.deleteKey.bind(1, job.rawValue)
            try pruning.deleteKey.run()
            memory.queues[queue].tally[state] -= 1
            memory.queues[queue].isTallyChanged = true
            if let graph {
                graphChanges[graph, default: GraphChange(at: Timestamp(milliseconds: 0))].tally[state] -= 1
                prunedGraphs.insert(graph)
            }
            deleted += 1
        }
        // The highest numbers may be gone from the tables now, and are not given again.
        pruning.keepNumbers.bind(1, memory.nextJob)
        pruning.keepNumbers.bind(2, memory.nextGraph)
        if deleted > 0 { try pruning.keepNumbers.run() }
        return deleted
    }
}

struct PruneStatements: ~Copyable {
    static let jobSQL: StaticString = """
        SELECT state, queue_id, graph_id,
               EXISTS (
                   SELECT 1
                   FROM   dependency INDEXED BY dependency_parent
                   JOIN   job AS dependent ON dependent.id = dependency.job_id
                   WHERE  dependency.parent_id = job.id
                   AND    dependent.state < 4)
        FROM   job
        WHERE  id = :job
        """
    static let deleteSQL: StaticString = "DELETE FROM job WHERE id = :job"
    /// The key under which the job was enqueued, if it was the last of its jobs.
    static let deleteKeySQL: StaticString = """
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
    static let keepNumbersSQL: StaticString = "UPDATE meta SET next_job_id = ?1, next_graph_id = ?2"

    let job: Statement
    let delete: Statement
    let deleteKey: Statement
    let keepNumbers: Statement

    init(_ connection: Connection) {
        job = connection.prepare(Self.jobSQL)
        delete = connection.prepare(Self.deleteSQL)
        deleteKey = connection.prepare(Self.deleteKeySQL)
        keepNumbers = connection.prepare(Self.keepNumbersSQL)
    }
}
