import Jobs
import SQLite

/// The phases in which a graph of very many jobs is deleted: first a check for dependents outside, then the edges, the
/// jobs, and finally the graph itself. From the request on, no new job may depend on one of its jobs.
enum PruningPhase: Hashable, Sendable {
    /// The jobs after this number are being checked for dependents outside the graph.
    case checking(after: JobID)
    case edges
    case jobs
}

extension Writer {
    func beginPruning(_ graph: GraphID) throws(SQLiteError) -> LongWork? {
        // Another prune has already deleted the graph.
        guard try numbers(of: graph) != nil else { return nil }
        if memory.pruning[graph] == nil {
            try pruning.insert.run([.graph <- graph])
            memory.pruning[graph] = .checking(after: JobID(0))
            try keepNumbers()
        }
        open(.pruning(graph))
        return .pruning(graph)
    }

    func pruneSlice(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let phase = memory.pruning[graph] else { return false }
        guard let numbers = try numbers(of: graph) else {
            try endPruning(graph)
            try pruning.deleteGraph.run([.graph <- graph])
            return false
        }
        switch phase {
        case .checking(let after):
            let next = try lastWithoutOutsideDependents(graph, after: after, in: numbers)
            guard let next else {
                try endPruning(graph)
                return false
            }
            memory.pruning[graph] = next < numbers.upperBound ? .checking(after: next) : .edges
        case .edges:
            if try deleteEdges(of: numbers) == 0 { memory.pruning[graph] = .jobs }
        case .jobs:
            let gone = try jobs(of: graph, after: JobID(0))
            for job in gone { try pruning.delete.run([.job <- job.job]) }
            unstored.reports[.pruning(graph), default: LongWorkReport()].deleted += gone.count
            try forget(gone)
        }
        return true
    }

    /// Checks the next few jobs for dependents outside the graph. Such dependents have higher numbers than all jobs of
    /// the graph.
    ///
    /// - Returns: The last job that was checked; nil if a job outside the graph depends on one of them.
    private func lastWithoutOutsideDependents(
        _ graph: GraphID, after: JobID, in numbers: ClosedRange<JobID>
    ) throws(SQLiteError) -> JobID? {
        let jobs = try jobs(of: graph, after: after)
        guard let last = jobs.last?.job else { return numbers.upperBound }
        for job in jobs {
            if isNeeded(job.job) { return nil }
            for condition in DependencyCondition.allCases
            where try pruning.hasLaterDependents.exists(
                [.job <- job.job, .condition <- condition, .last <- numbers.upperBound])
            {
                return nil
            }
        }
        return last
    }

    /// Deletes the edges of some of these jobs.
    ///
    /// - Returns: How many edges were deleted; 0 if none are left.
    private func deleteEdges(of jobs: ClosedRange<JobID>) throws(SQLiteError) -> Int {
        let edges = try pruning.someEdges.all([
            .first <- jobs.lowerBound, .last <- jobs.upperBound, .limit <- Self.rowsPerSlice,
        ]) { (dependent: $0.job(0), position: $0.integer(1)) }
        for edge in edges { try pruning.deleteEdge.run([.dependent <- edge.dependent, .position <- edge.position]) }
        return edges.count
    }

    /// - Parameter limit: The maximum number of jobs; unlimited if it is negative.
    func jobs(
        of graph: GraphID, after: JobID, limit: Int = Writer.rowsPerSlice / 4
    ) throws(SQLiteError) -> [Gone] {
        try pruning.jobs.all([.graph <- graph, .after <- after, .limit <- limit], Gone.init(_:))
    }

    /// The range of the numbers of a graph's jobs, which are consecutive. Nil if the graph has no jobs.
    private func numbers(of graph: GraphID) throws(SQLiteError) -> ClosedRange<JobID>? {
        try pruning.numbers.first([.graph <- graph]) { $0.isNull(0) ? nil : $0.job(0)...$0.job(1) } ?? nil
    }

    private func endPruning(_ graph: GraphID) throws(SQLiteError) {
        memory.pruning[graph] = nil
        try pruning.forget.run([.graph <- graph])
    }

    /// Whether a graph that is still being accepted or written depends on the job.
    func isNeeded(_ job: JobID) -> Bool { unstored.needed.values.contains { $0.contains(job) } }
}
