import Jobs
import SQLite

/// Requests that may touch very many rows. A large request is carried out in several transactions, so that no other
/// write waits for all of it.
extension SQLiteJobStore {
    // MARK: Enqueueing

    public func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome] {
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(graphs.count)
        // A closed store throws even when there is nothing to enqueue.
        if graphs.isEmpty { try await write { (_) throws(SQLiteError) in } }
        var rest = graphs[...]
        while let first = rest.first {
            if first.isLarge {
                outcomes.append(try await enqueueInParts(first, now: now))
                rest.removeFirst()
                continue
            }
            let small = Array(rest.prefix { !$0.isLarge })
            outcomes += try await write(weight: small.reduce(0) { $0 + $1.weight }) { (writer) throws(SQLiteError) in
                try writer.enqueue(small, now: now)
            }
            rest = rest.dropFirst(small.count)
        }
        return outcomes
    }

    private func enqueueInParts(_ graph: NewGraph, now: Timestamp) async throws(StoreError) -> EnqueueOutcome {
        switch try await stage(graph) {
        case .answered(let outcome): return outcome
        case .begun(let staged):
            let answer = try await accept(staged) { (writer) throws(SQLiteError) in
                try writer.accept(staged, now: now)
            }
            return answer.value.naming(skippedIn: answer.report)
        }
    }

    // MARK: Cancelling

    public func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult] {
        guard jobs.count > Writer.rowsPerSlice else {
            return try await write(weight: jobs.count) { (writer) throws(SQLiteError) in
                try writer.cancel(jobs, now: now)
            }
        }
        // Dependents usually have the higher numbers, so they are cancelled before their dependencies.
        var rest = Array(Set(jobs)).sorted(by: >)[...]
        var results: [JobID: CancelResult] = [:]
        let request = JointCancellation.Request()
        defer { request.end() }
        try await write { (writer) throws(SQLiteError) in
            writer.unstored.cancelledTogether.append(JointCancellation(request: request, jobs: Set(jobs)))
        }
        while !rest.isEmpty {
            let some = Array(rest.prefix(Writer.rowsPerSlice / 2))
            let answers = try await write(weight: some.count) { (writer) throws(SQLiteError) in
                try writer.cancel(some, now: now)
            }
            for (job, answer) in zip(some, answers) { results[job] = answer }
            rest = rest.dropFirst(some.count)
        }
        let early = try await write { (writer) throws(SQLiteError) in
            writer.unstored.cancelledTogether.first { $0.request === request }?.early ?? []
        }
        for job in early { results[job] = .cancelled }
        return jobs.map { results[$0] ?? .unknown }
    }

    public func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]? {
        guard let writing else { throw .readOnly(path: path) }
        let answer = try await writing.performLong(weight: Writer.rowsPerSlice) { (writer) throws(SQLiteError) in
            let begun = try writer.cancel(graph: graph, now: now)
            return (begun?.results, begun?.work)
        }
        let cancelled = try answer.report?.get().cancelled ?? [:]
        return answer.value.map { $0.merging(cancelled) { $1 } }
    }

    // MARK: Pruning

    /// Looks for the jobs on a separate connection first, so that a long walk does not hold up the writer.
    public func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep {
        let found = try await listing.perform { (reader) throws(SQLiteError) in
            try reader.prunable(request, below: below, limit: limit)
        }
        var step = PruneStep(deleted: 0, keptByGraph: found.keptByGraph, next: found.next)
        var units: [PruneUnit] = []
        for unit in found.units {
            if case .graph(let graph, let jobs) = unit, jobs > Writer.rowsPerSlice {
                try await prune(&units, &step)
                try await prune(graph, jobs: jobs, &step)
                continue
            }
            units.append(unit)
            if units.reduce(0, { $0 + $1.jobs }) >= Writer.rowsPerSlice { try await prune(&units, &step) }
        }
        try await prune(&units, &step)
        return step
    }

    private func prune(_ units: inout [PruneUnit], _ step: inout PruneStep) async throws(StoreError) {
        if units.isEmpty { return }
        let some = units
        units = []
        let (deleted, kept) = try await write(weight: some.reduce(0) { $0 + $1.jobs }) {
            (writer) throws(SQLiteError) in try writer.prune(some)
        }
        step.deleted += deleted
        step.keptByDependents += kept
    }

    private func prune(_ graph: GraphID, jobs: Int, _ step: inout PruneStep) async throws(StoreError) {
        guard let writing else { throw .readOnly(path: path) }
        let answer = try await writing.performLong(weight: 1) { (writer) throws(SQLiteError) in
            let work = try writer.beginPruning(graph)
            return (work != nil, work)
        }
        let deleted = try answer.report?.get().deleted ?? 0
        step.deleted += deleted
        if answer.value, deleted == 0 { step.keptByDependents += jobs }
    }
}
