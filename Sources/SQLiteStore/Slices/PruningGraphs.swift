import Jobs
import SQLite

/// The phases in which a graph of very many jobs is deleted: first a check for dependents outside, then the edges, the
/// jobs, and finally the graph itself. From the request on, no new job may depend on one of its jobs.
enum PruningPhase: Hashable, Sendable {
    /// The jobs after this number are being checked for dependents outside the graph.
    case checking(after: Int64)
    case edges
    case jobs
}

extension Writer {
    func beginPruning(_ graph: GraphID) throws(SQLiteError) -> LongWork? {
        // Another prune has already deleted the graph.
        guard try numbers(of: graph) != nil else { return nil }
        if memory.pruning[graph] == nil {
            pruning.insert.bind(1, graph.rawValue)
            try pruning.insert.run()
            memory.pruning[graph] = .checking(after: 0)
            try keepNumbers()
        }
        open(.pruning(graph))
        return .pruning(graph)
    }

    func pruneSlice(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let phase = memory.pruning[graph] else { return false }
        guard let numbers = try numbers(of: graph) else {
            try endPruning(graph)
            pruning.deleteGraph.bind(1, graph.rawValue)
            try pruning.deleteGraph.run()
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
            let gone = try jobs(of: graph, after: 0)
            for job in gone {
                pruning.delete.bind(1, job.job)
                try pruning.delete.run()
            }
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
        _ graph: GraphID, after: Int64, in numbers: ClosedRange<Int64>
    ) throws(SQLiteError) -> Int64? {
        let jobs = try jobs(of: graph, after: after)
        guard let last = jobs.last?.job else { return numbers.upperBound }
        for job in jobs {
            if isNeeded(JobID(job.job)) { return nil }
            for condition in [DependencyCondition.succeeded, .finished] {
                pruning.hasLaterDependents.bind(1, job.job)
                pruning.hasLaterDependents.bind(2, condition.rawValue)
                pruning.hasLaterDependents.bind(3, numbers.upperBound)
                let hasDependents = try pruning.hasLaterDependents.step()
                pruning.hasLaterDependents.reset()
                if hasDependents { return nil }
            }
        }
        return last
    }

    /// Deletes the edges of some of these jobs.
    ///
    /// - Returns: How many edges were deleted; 0 if none are left.
    private func deleteEdges(of jobs: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        var edges: [(job: Int64, position: Int64)] = []
        pruning.someEdges.bind(1, jobs.lowerBound)
        pruning.someEdges.bind(2, jobs.upperBound)
        pruning.someEdges.bind(3, Self.rowsPerSlice)
        while try pruning.someEdges.step() {
            edges.append((pruning.someEdges.integer(0), pruning.someEdges.integer(1)))
        }
        for edge in edges {
            pruning.deleteEdge.bind(1, edge.job)
            pruning.deleteEdge.bind(2, edge.position)
            try pruning.deleteEdge.run()
        }
        return edges.count
    }

    private func jobs(of graph: GraphID, after: Int64) throws(SQLiteError) -> [Gone] {
        var jobs: [Gone] = []
        pruning.someJobs.bind(1, graph.rawValue)
        pruning.someJobs.bind(2, after)
        pruning.someJobs.bind(3, Self.rowsPerSlice / 4)
        while try pruning.someJobs.step() {
            jobs.append(
                Gone(
                    job: pruning.someJobs.integer(0), state: Int(pruning.someJobs.integer(1)),
                    queue: pruning.someJobs.integer(2)))
        }
        return jobs
    }

    /// The range of the numbers of a graph's jobs, which are consecutive. Nil if the graph has no jobs.
    private func numbers(of graph: GraphID) throws(SQLiteError) -> ClosedRange<Int64>? {
        pruning.numbers.bind(1, graph.rawValue)
        defer { pruning.numbers.reset() }
        guard try pruning.numbers.step(), let first = pruning.numbers.optionalInteger(0),
            let last = pruning.numbers.optionalInteger(1)
        else { return nil }
        return first...last
    }

    private func endPruning(_ graph: GraphID) throws(SQLiteError) {
        memory.pruning[graph] = nil
        pruning.forget.bind(1, graph.rawValue)
        try pruning.forget.run()
    }

    /// Whether a graph that is still being accepted or written depends on the job.
    func isNeeded(_ job: JobID) -> Bool { unstored.needed.values.contains { $0.contains(job) } }
}
