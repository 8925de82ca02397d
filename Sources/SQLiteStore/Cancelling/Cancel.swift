import Jobs
import SQLite

extension Writer {
    /// Cancels all the jobs before it settles their dependents. Otherwise one job of the request could be skipped, or
    /// started, because of another job of the same request.
    ///
    /// - Returns: One result for each job, in order.
    func cancel(_ jobs: [JobID], now: Timestamp) throws(SQLiteError) -> [CancelResult] {
        var results: [CancelResult] = []
        results.reserveCapacity(jobs.count)
        try cancelAndSettle(jobs, now: now) { results.append($1) }
        return results
    }

    /// Cancels jobs as ``cancel(_:now:)`` does, and passes each result to `body`.
    func cancelAndSettle(
        _ jobs: [JobID], now: Timestamp, _ body: (JobID, CancelResult) -> Void
    ) throws(SQLiteError) {
        var cancelled: [JobID] = []
        for job in jobs {
            let result = try cancelAlone(job, now: now)
            if result == .cancelled { cancelled.append(job) }
            body(job, result)
        }
        for job in cancelled { try settleDependents(of: job, .cancelled, now: now) }
    }

    /// Cancels the open jobs of a graph.
    ///
    /// - Returns: The result of each open job. If there are very many, the results are empty, and `work` is the long
    ///   work that carries out the request. Nil if the graph does not exist.
    func cancel(graph: GraphID, now: Timestamp) throws(SQLiteError) -> (
        results: [JobID: CancelResult], work: LongWork?
    )? {
        cancelling.graph.bind(1, graph.rawValue)
        guard try cancelling.graph.step() else { return nil }
        let open = cancelling.graph.integer(0)
        cancelling.graph.reset()
        if open > Self.rowsPerSlice || memory.writing[graph] != nil {
            try beginCancelling(graph, now: now)
            return ([:], .cancelling(graph))
        }
        var jobs: [JobID] = []
        cancelling.openJobs.bind(1, graph.rawValue)
        while try cancelling.openJobs.step() { jobs.append(JobID(cancelling.openJobs.integer(0))) }
        let results = try cancel(jobs, now: now)
        return (Dictionary(uniqueKeysWithValues: zip(jobs, results)), nil)
    }

    /// Cancels one job, or requests its cancellation if it is running. Leaves its dependents to the caller.
    func cancelAlone(_ job: JobID, now: Timestamp) throws(SQLiteError) -> CancelResult {
        cancelling.job.bind(1, job.rawValue)
        guard try cancelling.job.step() else { return .unknown }
        let state = JobState(rawValue: Int(cancelling.job.integer(0)))
        let attempt = Int(cancelling.job.integer(1))
        let queueID = cancelling.job.integer(2)
        let graph = cancelling.job.optionalInteger(3).map(GraphID.init(_:))
        cancelling.job.reset()
        let queue = try memory.queueIndex(id: queueID)
        // The schema allows no other state.
        guard let state else { return .unknown }
        switch state {
        case .running:
            if memory.running[job]?.isCancelRequested == false {
                cancelling.request.bind(1, job.rawValue)
                cancelling.request.bind(2, now.milliseconds)
                try cancelling.request.run()
                memory.running[job]?.isCancelRequested = true
                note(job, graph: graph, state: .running, attempt: attempt, isCancelRequest: true)
            }
            return .requested
        case .blocked, .scheduled, .ready:
            cancelling.cancel.bind(1, job.rawValue)
            cancelling.cancel.bind(2, now.milliseconds)
            try cancelling.cancel.run()
            count(queue: queue, graph: graph, from: state, to: .cancelled, now: now)
            note(job, graph: graph, state: .cancelled, attempt: attempt, cause: .cancelled)
            try recordResult(job, attempt: 0, .cancelled, .cancelledBeforeStart, now: now)
            return .cancelled
        case .succeeded: return .alreadyFinal(.succeeded)
        case .failed: return .alreadyFinal(.failed)
        case .cancelled: return .alreadyFinal(.cancelled)
        case .skipped: return .alreadyFinal(.skipped)
        }
    }
}

struct CancelStatements: ~Copyable {
    static let graphSQL: SQL = "SELECT blocked + scheduled + ready + running FROM graph WHERE id = :graph"
    static let openBelowSQL: SQL = """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = ?1
        AND      id < ?2
        AND      state < 4
        ORDER BY id DESC
        LIMIT    ?3
        """
    static let insertSQL: SQL = """
        INSERT INTO cancelling (graph_id, requested_ms, below_id)
        VALUES (:graph, :now, 0x7FFFFFFFFFFFFFFF)
        """
    static let advanceSQL: SQL = "UPDATE cancelling SET below_id = ?2 WHERE graph_id = ?1"
    static let forgetSQL: SQL = "DELETE FROM cancelling WHERE graph_id = :graph"
    static let openJobsSQL: SQL = """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        AND      state < 4
        ORDER BY id
        """
    static let jobSQL: SQL = "SELECT state, attempt, queue_id, graph_id FROM job WHERE id = :job"
    static let requestSQL: SQL = """
        UPDATE job
        SET    cancel_ms = ?2
        WHERE  id = ?1
        AND    state = 3
        AND    cancel_ms IS NULL
        """
    static let cancelSQL: SQL = """
        UPDATE job
        SET    state = 6, finished_ms = ?2, cancel_ms = ?2
        WHERE  id = ?1
        AND    state BETWEEN 0 AND 2
        """

    let graph: Statement
    let openJobs: Statement
    let job: Statement
    let request: Statement
    let cancel: Statement
    let openBelow: Statement
    let insert: Statement
    let advance: Statement
    let forget: Statement

    init(_ connection: Connection) {
        graph = connection.prepare(Self.graphSQL)
        openJobs = connection.prepare(Self.openJobsSQL)
        job = connection.prepare(Self.jobSQL)
        request = connection.prepare(Self.requestSQL)
        cancel = connection.prepare(Self.cancelSQL)
        openBelow = connection.prepare(Self.openBelowSQL)
        insert = connection.prepare(Self.insertSQL)
        advance = connection.prepare(Self.advanceSQL)
        forget = connection.prepare(Self.forgetSQL)
    }
}
