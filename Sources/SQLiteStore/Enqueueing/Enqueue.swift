import Jobs
import SQLite

extension Writer {
    func enqueue(_ graphs: [NewGraph], now: Timestamp) throws(SQLiteError) -> [EnqueueOutcome] {
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(graphs.count)
        for graph in graphs { outcomes.append(try enqueue(graph, now: now)) }
        return outcomes
    }

    private func enqueue(_ graph: NewGraph, now: Timestamp) throws(SQLiteError) -> EnqueueOutcome {
        switch try decide(graph, now: now) {
        case .answered(let outcome): outcome
        case .accepted(let plan, let queues): .enqueued(try insert(graph, plan, queues: queues, now: now))
        }
    }

    // MARK: Deciding

    enum EnqueueDecision {
        case answered(EnqueueOutcome)
        /// `queues` contains one index into `memory.queues` for each job.
        case accepted(GraphPlan, queues: [Int])
    }

    /// Decides everything without writing anything, so that a refusal leaves no trace.
    func decide(_ graph: NewGraph, now: Timestamp) throws(SQLiteError) -> EnqueueDecision {
        precondition(!graph.jobs.isEmpty, "a graph has at least one job")
        if let refusal = graph.hiddenText { return .answered(.refused(refusal)) }
        if let key = graph.key, let outcome = try enqueueing.keys.outcome(of: key) { return .answered(outcome) }
        do throws(PlanFailure) {
            let queues = try queues(of: graph)
            let plan = try GraphPlan(graph.jobs, now: now) { (job, condition) throws(PlanFailure) in
                try outcomeOfDependency(job, condition)
            }
            return .accepted(plan, queues: queues)
        } catch {
            switch error {
            case .refused(let refusal): return .answered(.refused(refusal))
            case .failed(let failure): throw failure
            }
        }
    }

    /// Returns the queue of each job as an index into `memory.queues`. Refuses unknown queues and definitions.
    private func queues(of graph: NewGraph) throws(PlanFailure) -> [Int] {
        var queues: [Int] = []
        queues.reserveCapacity(graph.jobs.count)
        for job in graph.jobs {
            guard memory.definitions.contains(job.definition) else {
                throw .refused(.unknownDefinition(job.definition))
            }
            // Consecutive jobs are usually in the same queue, and a comparison is cheaper than a hash lookup.
            if let last = queues.last, memory.queues[last].settings.name == job.queue {
                queues.append(last)
            } else {
                guard let index = memory.queueByName[job.queue] else { throw .refused(.unknownQueue(job.queue)) }
                queues.append(index)
            }
        }
        return queues
    }

    /// The outcome of an existing dependency; nil while the dependency is open, or while its dependents are being
    /// settled and the new edge has not been reached. The number of the new job is not known yet, but will be higher
    /// than all existing numbers, so the edge's key uses the highest possible number.
    private func outcomeOfDependency(
        _ job: JobID, _ condition: DependencyCondition
    ) throws(PlanFailure) -> Outcome? {
        let edge = EdgeKey(condition: condition, job: JobID(.max), position: 0)
        let state: JobState??
        do throws(SQLiteError) {
            state = try dependencyState(of: job)
        } catch {
            throw .failed(error)
        }
        guard let state else { throw .refused(.unknownDependency(job)) }
        if let settling = memory.settling[job], settling.last < edge { return nil }
        return state?.outcome
    }

    // MARK: Writing

    /// Inserts the rows of one table after another, so that each table grows at its end.
    private func insert(
        _ graph: NewGraph, _ plan: GraphPlan, queues: [Int], now: Timestamp
    ) throws(SQLiteError) -> EnqueueReceipt {
        let first = memory.nextJob
        memory.nextJob += Int64(graph.jobs.count)
        var graphID: GraphID?
        if graph.isGraph {
            graphID = GraphID(memory.nextGraph)
            memory.nextGraph += 1
            try insertGraph(graphID!, name: graph.name, plan, now: now)
        }
        for (index, job) in graph.jobs.enumerated() {
            try insertJob(
                job, id: first + Int64(index), graph: graphID, plan.starts[index],
                dependencies: job.dependencies.count, queue: queues[index], now: now)
        }
        for (index, job) in graph.jobs.enumerated() {
            if let input = job.input { try insert(input, of: JobID(first + Int64(index))) }
        }
        for (index, job) in graph.jobs.enumerated() {
            for (position, dependency) in job.dependencies.enumerated() {
                try insertDependency(
                    of: JobID(first + Int64(index)), position: position,
                    on: number(of: dependency.job, first: first), dependency.condition)
            }
            if let cause = plan.starts[index].cause {
                try recordSkip(
                    JobID(first + Int64(index)), because: number(of: cause.dependency, first: first), cause.outcome,
                    now: now)
            }
        }
        if let key = graph.key { try insert(key, graph: graphID, first: first, jobs: graph.jobs.count) }
        let jobs = (first..<memory.nextJob).map(JobID.init(_:))
        let skipped = zip(jobs, plan.starts).compactMap { $1.state == .skipped ? $0 : nil }
        return EnqueueReceipt(graph: graphID, jobs: jobs, skipped: skipped)
    }

    func insert(_ input: JSONText, of job: JobID) throws(SQLiteError) {
        enqueueing.insertInput.bind(1, job.rawValue)
        try enqueueing.insertInput.withBound(2, text: input.bytes) { () throws(SQLiteError) in
            try enqueueing.insertInput.run()
        }
    }

    func insertDependency(
        of dependent: JobID, position: Int, on dependency: JobID, _ condition: DependencyCondition
    ) throws(SQLiteError) {
        enqueueing.insertDependency.bind(1, dependent.rawValue)
        enqueueing.insertDependency.bind(2, position)
        enqueueing.insertDependency.bind(3, dependency.rawValue)
        enqueueing.insertDependency.bind(4, condition.rawValue)
        try enqueueing.insertDependency.run()
    }

    func insert(_ key: IdempotencyKey, graph: GraphID?, first: Int64, jobs: Int) throws(SQLiteError) {
        try enqueueing.insertKey.bind(1, key.name)
        enqueueing.insertKey.bind(2, key.fingerprint)
        enqueueing.insertKey.bind(3, graph?.rawValue)
        enqueueing.insertKey.bind(4, first)
        enqueueing.insertKey.bind(5, jobs)
        try enqueueing.insertKey.run()
    }

    func number(of job: NewDependency.Job, first: Int64) -> JobID {
        switch job {
        case .new(let index): JobID(first + Int64(index))
        case .existing(let id): id
        }
    }

    private func insertGraph(
        _ id: GraphID, name: String?, _ plan: GraphPlan, now: Timestamp
    ) throws(SQLiteError) {
        var tally = Tally()
        for start in plan.starts { tally[start.state] += 1 }
        enqueueing.insertGraph.bind(1, id.rawValue)
        try enqueueing.insertGraph.bind(2, name)
        enqueueing.insertGraph.bind(3, now.milliseconds)
        enqueueing.insertGraph.bind(4, tally.open == 0 ? now.milliseconds : nil)
        enqueueing.insertGraph.bind(counts: tally, from: 5)
        try enqueueing.insertGraph.run()
    }

    func insertJob(
        _ job: NewJob, id: Int64, graph: GraphID?, _ start: GraphPlan.Start, dependencies: Int, queue: Int,
        now: Timestamp
    ) throws(SQLiteError) {
        var dueAt: Timestamp?
        var steadyMs: Int64?
        switch (start.state, job.start) {
        case (.ready, _): (dueAt, steadyMs) = (now, steady.now)
        case (_, .now): break
        case (_, .at(let moment)): dueAt = moment
        case (_, .after(let wait)):
            (dueAt, steadyMs) = (now + wait, steady.now + wait.milliseconds)
            steady.notesWait(now: now)
        }
        enqueueing.insertJob.bind(1, id)
        enqueueing.insertJob.bind(2, start.state.rawValue)
        enqueueing.insertJob.bind(3, memory.queues[queue].id)
        enqueueing.insertJob.bind(4, job.priority.rawValue)
        enqueueing.insertJob.bind(5, job.definition.rawValue)
        enqueueing.insertJob.bind(6, graph?.rawValue)
        try enqueueing.insertJob.bind(7, job.node)
        enqueueing.insertJob.bind(8, dependencies)
        enqueueing.insertJob.bind(9, start.pending)
        enqueueing.insertJob.bind(10, now.milliseconds)
        enqueueing.insertJob.bind(11, dueAt?.milliseconds)
        enqueueing.insertJob.bind(12, start.state == .skipped ? now.milliseconds : nil)
        enqueueing.insertJob.bind(13, job.repeats?.rawValue)
        enqueueing.insertJob.bind(14, steadyMs)
        try enqueueing.insertJob.run()
        memory.count(queue: queue) { $0[start.state] += 1 }
        let endsAt = start.state == .scheduled ? steadyMs.map { steady.wallTime(ofWaitEnd: $0) } ?? dueAt : nil
        note(
            JobID(id), graph: graph, state: start.state, attempt: 0, dueAt: endsAt, cause: .accepted, input: job.input)
    }
}

struct EnqueueStatements: ~Copyable {
    static let stateOfSQL: SQL = "SELECT state, graph_id FROM job WHERE id = :job"
    static let insertGraphSQL: SQL = """
        INSERT INTO graph (id, name, enqueued_ms, finished_ms,
                           blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped)
        VALUES (:id, :name, :now, :finished,
                :blocked, :scheduled, :ready, :running, :succeeded, :failed, :cancelled, :skipped)
        """
    static let insertJobSQL: SQL = """
        INSERT INTO job (id, state, queue_id, priority, definition_id, graph_id, node, attempt, tries, rescues,
                         dependencies, pending, enqueued_ms, due_ms, finished_ms, repeats_id, steady_ms)
        VALUES (:id, :state, :queue, :priority, :definition, :graph, :node, 0, 0, 0,
                :dependencies, :pending, :now, :due, :finished, :repeats, :steady)
        """
    static let insertInputSQL: SQL = "INSERT INTO job_input (job_id, input) VALUES (:job, :input)"
    static let insertDependencySQL: SQL = """
        INSERT INTO dependency (dependent_id, position, dependency_id, condition)
        VALUES (:dependent, :position, :dependency, :condition)
        """
    static let insertKeySQL: SQL = """
        INSERT INTO idempotency (key, fingerprint, graph_id, first_job_id, jobs)
        VALUES (:key, :fingerprint, :graph, :first, :jobs)
        """

    let keys: KeyLookup
    let stateOf: Statement
    let insertGraph: Statement
    let insertJob: Statement
    let insertInput: Statement
    let insertDependency: Statement
    let insertKey: Statement

    init(_ connection: Connection) {
        keys = KeyLookup(connection)
        stateOf = connection.prepare(Self.stateOfSQL)
        insertGraph = connection.prepare(Self.insertGraphSQL)
        insertJob = connection.prepare(Self.insertJobSQL)
        insertInput = connection.prepare(Self.insertInputSQL)
        insertDependency = connection.prepare(Self.insertDependencySQL)
        insertKey = connection.prepare(Self.insertKeySQL)
    }
}

extension NewGraph {
    /// Refuses the first text that contains a hidden character; nil if there is none. The schema would also refuse the
    /// text, but without naming the character.
    var hiddenText: EnqueueRefusal? {
        if let hidden = name.flatMap({ HiddenCharacter(in: $0) }) {
            return .hiddenCharacter(hidden, field: "the graph's name")
        }
        if let hidden = key.flatMap({ HiddenCharacter(in: $0.name) }) {
            return .hiddenCharacter(hidden, field: "the key")
        }
        for node in jobs.lazy.compactMap(\.node) {
            if let hidden = HiddenCharacter(in: node) { return .hiddenCharacter(hidden, field: "the node's name") }
        }
        return nil
    }
}
