import Jobs
import SQLite
import StoreParts

/// Accepts a graph, a job with very many dependencies, or very many small graphs together in three steps, so that no
/// other write waits for all of the rows:
///
/// 1. The parts are stored, a few in each transaction. They are not visible yet; if the daemon stops now, the next
///    start deletes them.
/// 2. One short transaction accepts the graph: it inserts the graph's row, which counts all jobs as blocked, and the
///    key. From then on the graph is kept (P1). Jobs outside of graphs, and small graphs, have no such row yet.
///    Instead, a row of `staged_part` with the negated number of the request marks the acceptance; its part number is
///    the time of the acceptance.
/// 3. The jobs are written part by part, dependencies before dependents, and the parts are deleted. Jobs that are
///    written may already run. The caller is answered at the end of this step.
extension Writer {
    /// The numbers that are reserved for a graph, and the queues and jobs that it was checked against.
    struct Staging: Sendable {
        /// The key in ``Unstored/needed`` for the jobs outside the graph that it depends on.
        let needs: Int
        let graph: GraphID
        let firstJob: Int64
        /// Queue indexes by name.
        let queues: [String: Int]
    }

    enum StagingDecision: Sendable {
        case answered(EnqueueOutcome)
        case begun(Staging)
    }

    /// Checks the graph and reserves its numbers. Call ``need(_:as:)`` first: a graph's numbers are higher than those
    /// of its dependencies.
    ///
    /// - Parameter needs: The value that was passed to ``need(_:as:)``.
    func beginStaging(_ summary: GraphSummary, needs: Int) throws(SQLiteError) -> StagingDecision {
        if let outcome = try answer(to: summary) {
            unstored.needed[needs] = nil
            return .answered(outcome)
        }
        var queues: [String: Int] = [:]
        for name in summary.queues.keys { queues[name] = memory.queueByName[name] }
        let staging = Staging(
            needs: needs, graph: GraphID(memory.nextGraph), firstJob: memory.nextJob, queues: queues)
        memory.nextGraph += 1 + Int64(summary.graphs)
        memory.nextJob += Int64(summary.jobs)
        // The next numbers are stored, since a rollback or a restart reads them again.
        try keepNumbers()
        unstored.unaccepted.insert(staging.graph)
        return .begun(staging)
    }

    private func answer(to summary: GraphSummary) throws(SQLiteError) -> EnqueueOutcome? {
        if let refusal = summary.hiddenText { return .refused(refusal) }
        if let key = summary.key, let outcome = try enqueueing.keys.outcome(of: key) { return outcome }
        for definition in summary.definitions where memory.definitions[definition] == nil {
            return .refused(.unknownDefinition(definition))
        }
        for queue in summary.queues.keys where memory.queueByName[queue] == nil {
            return .refused(.unknownQueue(queue))
        }
        return nil
    }

    /// Checks that the jobs on which the graph depends exist, and keeps them from being pruned until the graph is
    /// written.
    func need(_ jobs: ArraySlice<JobID>, as needs: Int) throws(SQLiteError) -> EnqueueProblem? {
        for job in jobs {
            guard try dependencyState(of: job) != nil else {
                unstored.needed[needs] = nil
                return .unknownDependency(job)
            }
        }
        unstored.needed[needs, default: []].formUnion(jobs)
        return nil
    }

    func store(part bytes: [UInt8], number: Int, of staging: Staging) throws(SQLiteError) {
        try writing.insertPart.run([
            .request <- staging.graph.rawValue, .number <- number, .first <- staging.firstJob,
            .body <- BoundValue.blob(bytes),
        ])
    }

    /// The outcome if the graph can no longer be accepted, for example because its key was used in the meantime. Nil if
    /// it can be accepted.
    func obstacle(to staged: StagedGraph) throws(SQLiteError) -> EnqueueOutcome? {
        if let outcome = try answer(to: staged.summary) { return outcome }
        // If the queue was removed, its number may now be another queue's.
        for (name, number) in staged.staging.queues where memory.queueByName[name] != number {
            return .refused(.unknownQueue(name))
        }
        return nil
    }

    /// Accepts a staged graph in the caller's transaction, and opens the work that writes its jobs. Discards the graph
    /// if it can no longer be accepted.
    func accept(_ staged: StagedGraph, now: Timestamp) throws(SQLiteError) -> EnqueueOutcome {
        let (staging, summary) = (staged.staging, staged.summary)
        if let outcome = try obstacle(to: staged) {
            discard(staging)
            return outcome
        }
        if summary.isGraph {
            try insertGraph(staging.graph, name: summary.name, jobs: summary.jobs, now: now)
        } else {
            try writing.insertPart.run([
                .request <- -staging.graph.rawValue, .number <- now, .first <- staging.firstJob,
                .body <- BoundValue.blob([0]),
            ])
        }
        for (name, jobs) in summary.queues {
            guard let index = memory.queueByName[name] else { continue }
            memory.count(queue: index) { $0[.blocked] += Int64(jobs) }
        }
        let graph = summary.isGraph ? staging.graph : nil
        if let key = summary.key { try insert(key, graph: graph, first: staging.firstJob, jobs: summary.jobs) }
        memory.writing[staging.graph] = AcceptedGraph(needs: staging.needs, isGraph: summary.isGraph)
        unstored.unaccepted.remove(staging.graph)
        if isObserved {
            acceptedJobs += summary.inputs.map {
                UnwrittenJob(job: JobID(staging.firstJob + Int64($0.index)), input: $0.input)
            }
        }
        open(.writing(staging.graph))
        let first = staging.firstJob
        return .enqueued(
            EnqueueReceipt(graph: graph, jobs: (first..<first + Int64(summary.jobs)).map(JobID.init(_:))))
    }

    /// Inserts a graph whose jobs all count as blocked until they are written.
    private func insertGraph(_ graph: GraphID, name: String?, jobs: Int, now: Timestamp) throws(SQLiteError) {
        var tally = Tally()
        tally[.blocked] = Int64(jobs)
        try insertGraph(graph, name: name, tally, now: now)
    }

    func discard(_ staging: Staging) {
        unstored.needed[staging.needs] = nil
        unstored.unaccepted.remove(staging.graph)
        open(.discarding(staging.graph))
    }

    /// Whether the graph was accepted and its jobs are not all written yet.
    func isWriting(_ staged: StagedGraph) -> Bool { memory.writing[staged.staging.graph] != nil }

    /// Discards the graph if it was not accepted. Call this when a request ends and may or may not have accepted its
    /// graph.
    func discardUnlessAccepted(_ staged: StagedGraph) {
        if unstored.unaccepted.contains(staged.staging.graph) { discard(staged.staging) }
    }

    // MARK: Slices

    /// - Returns: Whether there is more to write.
    func writePart(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let accepted = memory.writing[graph] else { return false }
        let found = try writing.firstPart.first([.graph <- graph]) {
            (number: $0.integer(0), first: $0.integer(1), bytes: $0.bytes(2) ?? [], acceptedAt: $0.timestamp(3))
        }
        guard let found else {
            try endWriting(graph, accepted)
            return false
        }
        guard let part = StagedPart(found.bytes), (1...Memory.maxNumber).contains(found.first) else {
            throw .damaged("part \(found.number) of graph \(graph) differs from what was written")
        }
        for entry in part.entries { try write(entry, first: found.first, graph, accepted, now: found.acceptedAt) }
        try writing.deletePart.run([.graph <- graph, .number <- found.number])
        // The work ends in the transaction of its last part. In a separate transaction, a rollback would find no part
        // left, and the caller would wait forever.
        let hasMore = try writing.firstPart.exists([.graph <- graph])
        if !hasMore { try endWriting(graph, accepted) }
        return hasMore
    }

    private func endWriting(_ graph: GraphID, _ accepted: AcceptedGraph) throws(SQLiteError) {
        memory.writing[graph] = nil
        unstored.needed[accepted.needs] = nil
        if accepted.isGraph { return }
        try writing.deleteAcceptance.run([.request <- -graph.rawValue])
    }

    private func write(
        _ entry: StagedPart.Entry, first: Int64, _ graph: GraphID, _ accepted: AcceptedGraph, now: Timestamp
    ) throws(SQLiteError) {
        let id = JobID(first + Int64(entry.index))
        let small = entry.graph.map { GraphID(graph.rawValue + Int64($0)) }
        if let small, let beginning = entry.beginning {
            try insertGraph(small, name: beginning.name, jobs: beginning.jobs, now: now)
        }
        if let job = entry.job {
            try write(job, id, accepted.isGraph ? graph : small, now: now)
        } else if try dependencyState(of: id) == nil {
            // The job was cancelled after its first part was written, and then pruned.
            return
        }
        for (offset, dependency) in entry.dependencies.enumerated() {
            let job = number(of: dependency.job, first: first)
            let position = entry.position + offset
            try insertDependency(of: id, position: position, on: job, dependency.condition)
            // I2: the edge has counted as pending until here.
            guard
                let outcome = try settledOutcome(
                    of: job, for: EdgeKey(condition: dependency.condition.rawValue, dependent: id, position: position))
            else { continue }
            if dependency.condition.isMet(by: outcome) {
                try unblock(id, now: now)
            } else if try skip(id, because: job, outcome, now: now) {
                unstored.reports[.writing(graph), default: LongWorkReport()].skipped.append(id)
                try settleDependents(of: id, .skipped, now: now)
            }
        }
    }

    private func write(
        _ job: StagedPart.Job, _ id: JobID, _ graph: GraphID?, now: Timestamp
    ) throws(SQLiteError) {
        guard memory.queues.indices.contains(job.queue) else {
            throw .damaged("the part that contains job \(id) refers to queue \(job.queue), which does not exist")
        }
        var start = GraphPlan.Start()
        start.pending = job.dependencyCount
        if job.dependencyCount == 0 {
            start.state = job.new.start.isLater(than: now) ? .scheduled : .ready
        }
        // A wait starts here: the time of acceptance is only known on the wall clock.
        try insertJob(
            job.new, id: id, graph: graph, start, dependencies: job.dependencyCount, queue: job.queue, now: now)
        // The acceptance has already counted the job, as blocked.
        count(queue: job.queue, graph: graph, from: .blocked, to: start.state, now: now)
        memory.count(queue: job.queue) { $0[start.state] -= 1 }
        if let input = job.new.input { try insert(input, of: id) }
    }

    func discardPart(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let number = try writing.firstPart.first([.graph <- graph], { $0.integer(0) }) else { return false }
        try writing.deletePart.run([.graph <- graph, .number <- number])
        return true
    }
}

/// The facts that are needed to accept a large graph, or very many small graphs together.
struct GraphSummary: Sendable {
    /// The number of small graphs.
    let graphs: Int
    let name: String?
    let key: IdempotencyKey?
    let isGraph: Bool
    let jobs: Int
    let definitions: Set<DefinitionID>
    /// The number of jobs in each queue.
    let queues: [String: Int]
    /// The jobs outside the graph that its jobs depend on.
    let needed: [JobID]
    let hiddenText: EnqueueProblem?
    let inputs: [(index: Int, input: JSONText)]

    init(_ graph: NewGraph) {
        self.init([graph], name: graph.name, key: graph.key, isGraph: graph.isGraph, graphs: 0)
    }

    init(together graphs: [NewGraph]) {
        self.init(graphs, name: nil, key: nil, isGraph: false, graphs: graphs.count(where: \.isGraph))
    }

    private init(_ all: [NewGraph], name: String?, key: IdempotencyKey?, isGraph: Bool, graphs: Int) {
        hiddenText = all.lazy.compactMap(\.hiddenText).first
        self.name = name
        self.key = key
        self.isGraph = isGraph
        self.graphs = graphs
        var jobs = 0
        var definitions: Set<DefinitionID> = []
        var queues: [String: Int] = [:]
        var needed: Set<JobID> = []
        var inputs: [(index: Int, input: JSONText)] = []
        for job in all.lazy.flatMap(\.jobs) {
            if let input = job.input { inputs.append((jobs, input)) }
            jobs += 1
            definitions.insert(job.definition)
            queues[job.queue, default: 0] += 1
            for case .existing(let dependency) in job.dependencies.map(\.job) { needed.insert(dependency) }
        }
        (self.jobs, self.definitions, self.queues) = (jobs, definitions, queues)
        self.needed = needed.sorted()
        self.inputs = inputs
    }
}

extension NewGraph {
    /// Whether the graph has too many rows for one transaction, so that it is accepted in steps.
    var isLarge: Bool { weight > Writer.manyRows }
}

struct WritingStatements: StatementGroup {
    let insertPart = Statement(
        """
        INSERT INTO staged_part (graph_id, number, first_job_id, body)
        VALUES (:request, :number, :first, :body)
        """)
    let firstPart = Statement(
        """
        SELECT    number, first_job_id, body,
                  coalesce((SELECT enqueued_ms FROM graph WHERE id = :graph),
                           (SELECT number FROM staged_part WHERE graph_id = -:graph))
        FROM      staged_part
        WHERE     graph_id = :graph
        ORDER BY  number
        LIMIT     1
        """)
    let deletePart = Statement("DELETE FROM staged_part WHERE graph_id = :graph AND number = :number")
    let deleteAcceptance = Statement("DELETE FROM staged_part WHERE graph_id = :request")
}
