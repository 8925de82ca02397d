import Jobs
import SQLite
import StoreParts

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
        guard let open = try cancelling.graph.first([.graph <- graph], { $0.integer(0) }) else { return nil }
        if open > Self.rowsPerSlice || memory.writing[graph] != nil {
            try beginCancelling(graph, now: now)
            return ([:], .cancelling(graph))
        }
        let jobs = try cancelling.openJobs.all([.graph <- graph]) { $0.job(0) }
        let results = try cancel(jobs, now: now)
        return (Dictionary(uniqueKeysWithValues: zip(jobs, results)), nil)
    }

    /// Cancels one job, or requests its cancellation if it is running. Leaves its dependents to the caller.
    func cancelAlone(_ job: JobID, now: Timestamp) throws(SQLiteError) -> CancelResult {
        let found = try cancelling.job.first([.job <- job]) { (row) throws(SQLiteError) in
            (
                state: JobState(rawValue: Int(row.integer(0))), attempt: Int(row.integer(1)),
                queue: try memory.queueIndex(id: row.integer(2)), graph: row.graph(3)
            )
        }
        // The schema allows no other state.
        guard case let (state?, attempt, queue, graph)? = found else { return .unknown }
        switch state {
        case .running:
            if memory.running[job]?.isCancelRequested == false {
                try cancelling.request.run([.job <- job, .now <- now])
                memory.running[job]?.isCancelRequested = true
                note(job, graph: graph, state: .running, attempt: attempt, isCancelRequest: true)
            }
            return .requested
        case .blocked, .scheduled, .ready:
            try cancelling.cancel.run([.job <- job, .now <- now])
            count(queue: queue, graph: graph, from: state, to: .cancelled, now: now)
            note(job, graph: graph, state: .cancelled, attempt: attempt, cause: .cancelled)
            try recordResult(job, attempt: 0, .cancelled, .cancelledBeforeStart, now: now)
            return .cancelled
        case .succeeded, .failed, .cancelled, .skipped: return .alreadyFinal(state.outcome!)
        }
    }
}

struct CancelStatements: StatementGroup {
    let graph = Statement("SELECT blocked + scheduled + ready + running FROM graph WHERE id = :graph")
    let openJobs = Statement(
        """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        AND      state < \(JobState.firstFinal)
        ORDER BY id
        """)
    let openBelow = Statement(
        """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        AND      id < :below
        AND      state < \(JobState.firstFinal)
        ORDER BY id DESC
        LIMIT    :limit
        """)
    let insert = Statement(
        """
        INSERT INTO cancelling (graph_id, requested_ms, below_id)
        VALUES (:graph, :now, 0x7FFFFFFFFFFFFFFF)
        """)
    let advance = Statement("UPDATE cancelling SET below_id = :below WHERE graph_id = :graph")
    let forget = Statement("DELETE FROM cancelling WHERE graph_id = :graph")
    let job = Statement("SELECT state, attempt, queue_id, graph_id FROM job WHERE id = :job")
    let request = Statement(
        """
        UPDATE job
        SET    cancel_ms = :now
        WHERE  id = :job
        AND    state = \(JobState.running)
        AND    cancel_ms IS NULL
        """)
    let cancel = Statement(
        """
        UPDATE job
        SET    state = \(JobState.cancelled), finished_ms = :now, cancel_ms = :now
        WHERE  id = :job
        AND    state BETWEEN \(JobState.blocked) AND \(JobState.ready)
        """)
}
