import Jobs
import SQLite
import StoreParts

/// Requests whose rows are stored in parts before the transaction that accepts them.
extension SQLiteJobStore {
    enum StagingAnswer {
        case answered(EnqueueOutcome)
        /// The caller must accept or discard this graph.
        case begun(StagedGraph)
    }

    /// Stores the parts of a large graph.
    ///
    /// - Parameter makesQueues: Whether missing queues are created.
    func stage(_ graph: NewGraph, makesQueues: Bool = false) async throws(StoreError) -> StagingAnswer {
        try await stage([graph], GraphSummary(graph), together: false, makesQueues: makesQueues)
    }

    /// Stores the parts of a large graph, or of very many small graphs and jobs, which are all accepted together.
    private func stage(
        _ graphs: [NewGraph], _ summary: GraphSummary, together: Bool, makesQueues: Bool
    ) async throws(StoreError) -> StagingAnswer {
        let orders: [[Int]]
        do throws(EnqueueProblem) {
            orders = try graphs.map { (graph) throws(EnqueueProblem) in try GraphPlan.order(of: graph.jobs) }
        } catch {
            // If the key was used before, its first answer is returned, even though the graph would now be refused.
            if let key = summary.key, let outcome = try await outcome(of: key) { return .answered(outcome) }
            return .answered(.refused(error))
        }
        let staging: Writer.Staging
        switch try await begin(summary, makesQueues: makesQueues) {
        case .answered(let outcome): return .answered(outcome)
        case .begun(let begun): staging = begun
        }
        let staged = StagedGraph(staging: staging, summary: summary)
        do {
            var number = 0
            try await StagedPart.divide(graphs, orders: orders, together: together, queues: staging.queues) {
                (bytes, rows) async throws(StoreError) in
                let part = number
                number += 1
                try await write(weight: rows) { (writer) throws(SQLiteError) in
                    try writer.store(part: bytes, number: part, of: staging)
                }
            }
        } catch {
            await discard([staged])
            throw error
        }
        return .begun(staged)
    }

    /// Checks the jobs that the graph depends on, and reserves the graph's numbers.
    private func begin(
        _ summary: GraphSummary, makesQueues: Bool
    ) async throws(StoreError) -> Writer.StagingDecision {
        let needs = try await write { (writer) throws(SQLiteError) in writer.makeNeeds() }
        var rest = summary.needed[...]
        while !rest.isEmpty {
            let some = rest.prefix(Writer.rowsPerSlice)
            let refusal = try await write(weight: some.count) { (writer) throws(SQLiteError) in
                try writer.need(some, as: needs)
            }
            if let refusal {
                if let key = summary.key, let outcome = try await outcome(of: key) { return .answered(outcome) }
                return .answered(.refused(refusal))
            }
            rest = rest.dropFirst(some.count)
        }
        return try await write { (writer) throws(SQLiteError) in
            if makesQueues { try writer.makeQueues(named: summary.queues.keys) }
            return try writer.beginStaging(summary, needs: needs)
        }
    }

    /// Carries out the transaction that accepts a staged graph, and waits until the jobs of the graph are written.
    func accept<Value: Sendable>(
        _ staged: StagedGraph, _ body: @escaping @Sendable (Writer) throws(SQLiteError) -> Value
    ) async throws(StoreError) -> LongAnswer<Value> {
        guard let writing else { throw .readOnly(path: path) }
        do {
            return try await writing.performLong(weight: 1) { (writer) throws(SQLiteError) in
                defer { writer.discardUnlessAccepted(staged) }
                let value = try body(writer)
                return (value, writer.isWriting(staged) ? staged.work : nil)
            }
        } catch {
            await discard([staged])
            throw error
        }
    }

    /// Discards staged graphs that were not accepted.
    func discard(_ staged: [StagedGraph]) async {
        // Losing this error is harmless: the next start discards the parts.
        try? await write { (writer) throws(SQLiteError) in
            for graph in staged { writer.discardUnlessAccepted(graph) }
        }
    }

    // MARK: Children

    /// Stores the parts of an attempt's children.
    func stage(children: [NewGraph]) async throws(StoreError) -> StagedChildren {
        var staged = StagedChildren()
        var together: [NewGraph] = []
        var large: [NewGraph] = []
        for child in children {
            if child.isLarge {
                large.append(child)
            } else if child.key != nil {
                staged.small.append(child)
            } else {
                together.append(child)
            }
        }
        func note(_ answer: StagingAnswer) {
            switch answer {
            case .begun(let begun): staged.large.append(begun)
            case .answered(.refused(let refusal)): staged.refusal = refusal
            case .answered: break
            }
        }
        do {
            for graph in large where staged.refusal == nil { note(try await stage(graph, makesQueues: true)) }
            if !together.isEmpty, staged.refusal == nil {
                note(try await stage(together, GraphSummary(together: together), together: true, makesQueues: true))
            }
        } catch {
            await discard(staged.large)
            throw error
        }
        return staged
    }

    public func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren? {
        PreparedChildren(try await stage(children: children))
    }

    public func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> Exchange {
        var prepared: [Lease: StagedChildren] = [:]
        // Contains only children that this call stored. Prepared children belong to the caller until an exchange has
        // recorded the end of their attempt.
        var staged: [StagedChildren] = []
        var weight = claim?.slots ?? 0
        do {
            for end in ends {
                let children = end.ending.children
                if let found = end.prepared?.contents as? StagedChildren {
                    prepared[end.lease] = found
                } else if children.reduce(0, { $0 + $1.weight }) > Writer.manyRows {
                    let stored = try await stage(children: children)
                    staged.append(stored)
                    prepared[end.lease] = stored
                } else {
                    weight += children.reduce(0) { $0 + $1.weight }
                }
                weight += 1
            }
            let children = prepared
            return try await write(weight: weight) { (writer) throws(SQLiteError) in
                try writer.exchange(ends, children: children, claim: claim, by: holder, now: now)
            }
        } catch {
            let large = staged.flatMap(\.large)
            if !large.isEmpty { await discard(large) }
            throw error
        }
    }

    // MARK: Schedules

    public func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome {
        guard case .enqueue(let graph) = firing.work, graph.isLarge else {
            let jobs = if case .enqueue(let graph) = firing.work { graph.weight } else { 1 }
            return try await write(weight: jobs) { (writer) throws(SQLiteError) in
                try writer.fire(firing, now: now) { (graph) throws(SQLiteError) in
                    try writer.enqueue([graph], now: now)[0]
                }
            }
        }
        switch try await stage(graph) {
        case .answered(let outcome):
            return try await write { (writer) throws(SQLiteError) in
                try writer.fire(firing, now: now) { (_) throws(SQLiteError) in outcome }
            }
        case .begun(let staged):
            do {
                // Returns before the jobs are written, so that other schedules do not wait for them.
                return try await write { (writer) throws(SQLiteError) in
                    defer { writer.discardUnlessAccepted(staged) }
                    return try writer.fire(firing, now: now) { (_) throws(SQLiteError) in
                        try writer.accept(staged, now: now)
                    }
                }
            } catch {
                await discard([staged])
                throw error
            }
        }
    }

    public func run(
        schedule name: String, _ graph: NewGraph, now: Timestamp
    ) async throws(StoreError) -> EnqueueOutcome? {
        guard graph.isLarge else {
            return try await write(weight: graph.weight) { (writer) throws(SQLiteError) in
                try writer.run(schedule: name) { () throws(SQLiteError) in try writer.enqueue([graph], now: now)[0] }
            }
        }
        switch try await stage(graph) {
        case .answered(let outcome):
            return try await write { (writer) throws(SQLiteError) in
                try writer.run(schedule: name) { () throws(SQLiteError) in outcome }
            }
        case .begun(let staged):
            let answer = try await accept(staged) { (writer) throws(SQLiteError) in
                try writer.run(schedule: name) { () throws(SQLiteError) in try writer.accept(staged, now: now) }
            }
            return answer.value?.naming(skippedIn: answer.report)
        }
    }
}

extension EnqueueOutcome {
    /// Adds the jobs that were skipped while the graph was written. The graph is accepted even if its jobs cannot be
    /// written now, so that error is not reported.
    func naming(skippedIn report: Result<LongWorkReport, StoreError>?) -> EnqueueOutcome {
        guard case .enqueued(var receipt) = self else { return self }
        receipt.skipped = ((try? report?.get())?.skipped ?? []).sorted()
        return .enqueued(receipt)
    }
}

/// A large graph whose parts are stored.
struct StagedGraph: Sendable {
    let staging: Writer.Staging
    let summary: GraphSummary

    /// The long work that begins when the graph is accepted.
    var work: LongWork { .writing(staging.graph) }
}

/// The children of one attempt that has very many.
struct StagedChildren: Sendable {
    /// Children that are written in the transaction that ends the attempt.
    var small: [NewGraph] = []
    /// Children whose parts are already stored. The transaction that ends the attempt accepts them.
    var large: [StagedGraph] = []
    /// The first refusal that was found while the parts were stored.
    var refusal: EnqueueProblem?
}
