import Jobs
import SQLite

extension Writer {
    /// First every job by itself, then what depends on them: of jobs cancelled together none is skipped, or started,
    /// because of another.
    func cancel(_ jobs: [JobID], now: Timestamp) throws(SQLiteError) -> [CancelResult] {
        var results: [CancelResult] = []
        results.reserveCapacity(jobs.count)
        for job in jobs { results.append(try cancelAlone(job, now: now)) }
        for (job, result) in zip(jobs, results) where result == .cancelled {
            try settleDependents(of: job, .cancelled, now: now)
        }
        return results
    }

    func cancel(graph: GraphID, now: Timestamp) throws(SQLiteError) -> [JobID: CancelResult]? {
        cancelling.graph.bind(1, graph.rawValue)
        let isKnown = try cancelling.graph.step()
        cancelling.graph.reset()
        guard isKnown else { return nil }
        var jobs: [JobID] = []
        cancelling.openJobs.bind(1, graph.rawValue)
        while try cancelling.openJobs.step() { jobs.append(JobID(cancelling.openJobs.integer(0))) }
        let results = try cancel(jobs, now: now)
        return Dictionary(uniqueKeysWithValues: zip(jobs, results))
    }

    private func cancelAlone(_ job: JobID, now: Timestamp) throws(SQLiteError) -> CancelResult {
        cancelling.job.bind(1, job.rawValue)
        guard try cancelling.job.step() else { return .unknown }
        let state = JobState(rawValue: Int(cancelling.job.integer(0)))
        let attempt = Int(cancelling.job.integer(1))
        let queue = memory.queueIndex(id: cancelling.job.integer(2))
        let graph = cancelling.job.optionalInteger(3).map(GraphID.init(_:))
        cancelling.job.reset()
        // The schema admits no other states.
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
    static let graphSQL: StaticString = "SELECT 1 FROM graph WHERE id = :graph"
    static let openJobsSQL: StaticString = """
        SELECT   id
        FROM     job INDEXED BY job_graph
        WHERE    graph_id = :graph
        AND      state < 4
        ORDER BY id
        """
    static let jobSQL: StaticString = "SELECT state, attempt, queue_id, graph_id FROM job WHERE id = :job"
    static let requestSQL: StaticString = """
        UPDATE job
        SET    cancel_ms = ?2
        WHERE  id = ?1
        AND    state = 3
        AND    cancel_ms IS NULL
        """
    static let cancelSQL: StaticString = """
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

    init(_ connection: Connection) {
        graph = connection.prepare(Self.graphSQL)
        openJobs = connection.prepare(Self.openJobsSQL)
        job = connection.prepare(Self.jobSQL)
        request = connection.prepare(Self.requestSQL)
        cancel = connection.prepare(Self.cancelSQL)
    }
}
