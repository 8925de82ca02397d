import Jobs
import SQLite
import StoreParts

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
        do throws(PlanError) {
            let queues = try queues(of: graph)
            let order: [Int]
            do throws(EnqueueProblem) { order = try GraphPlan.order(of: graph.jobs) } catch { throw .refused(error) }
            let plan = try GraphPlan(graph.jobs, order: order, now: now) { (job, condition) throws(PlanError) in
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
    private func queues(of graph: NewGraph) throws(PlanError) -> [Int] {
        var queues: [Int] = []
        queues.reserveCapacity(graph.jobs.count)
        for job in graph.jobs {
            guard memory.definitions[job.definition] != nil else {
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
    ) throws(PlanError) -> Outcome? {
        let edge = EdgeKey(condition: condition.rawValue, dependent: JobID(.max), position: 0)
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
            var tally = Tally()
            for start in plan.starts { tally[start.state] += 1 }
            try insertGraph(graphID!, name: graph.name, tally, now: now)
        }
        for (index, job) in graph.jobs.enumerated() {
            try insertJob(
                job, id: JobID(first + Int64(index)), graph: graphID, plan.starts[index],
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
        try input.withoutCopy { (input) throws(SQLiteError) in
            try enqueueing.insertInput.run([.job <- job, .input <- input])
        }
    }

    func insertDependency(
        of dependent: JobID, position: Int, on dependency: JobID, _ condition: DependencyCondition
    ) throws(SQLiteError) {
        try enqueueing.insertDependency.run([
            .dependent <- dependent, .position <- position, .dependency <- dependency, .condition <- condition,
        ])
    }

    func insert(_ key: IdempotencyKey, graph: GraphID?, first: Int64, jobs: Int) throws(SQLiteError) {
        try enqueueing.insertKey.run([
            .key <- key.name, .fingerprint <- key.fingerprint, .graph <- graph, .first <- first, .jobs <- jobs,
        ])
    }

    func number(of job: NewDependency.Job, first: Int64) -> JobID {
        switch job {
        case .new(let index): JobID(first + Int64(index))
        case .existing(let id): id
        }
    }

    /// - Parameter tally: The states of the graph's jobs.
    func insertGraph(_ id: GraphID, name: String?, _ tally: Tally, now: Timestamp) throws(SQLiteError) {
        try enqueueing.insertGraph.run([
            .graph <- id, .name <- name, .now <- now, .finished <- tally.open == 0 ? now : nil,
            .blocked <- tally[.blocked], .scheduled <- tally[.scheduled], .ready <- tally[.ready],
            .running <- tally[.running], .succeeded <- tally[.succeeded], .failed <- tally[.failed],
            .cancelled <- tally[.cancelled], .skipped <- tally[.skipped],
        ])
    }

    func insertJob(
        _ job: NewJob, id: JobID, graph: GraphID?, _ start: GraphPlan.Start, dependencies: Int, queue: Int,
        now: Timestamp
    ) throws(SQLiteError) {
        var dueAt: Timestamp?
        var steadyAt: Timestamp?
        switch (start.state, job.start) {
        case (.ready, _): (dueAt, steadyAt) = (now, steady.moment)
        case (_, .now): break
        case (_, .at(let moment)): dueAt = moment
        case (_, .after(let wait)):
            (dueAt, steadyAt) = (now + wait, steady.moment + wait)
            steady.notesWait(now: now)
        }
        try enqueueing.insertJob.run([
            .job <- id, .state <- start.state, .queue <- memory.queues[queue].id, .priority <- job.priority,
            .definition <- job.definition, .graph <- graph, .node <- job.node, .dependencies <- dependencies,
            .pending <- start.pending, .now <- now, .due <- dueAt,
            .finished <- start.state == .skipped ? now : nil, .repeats <- job.repeats, .steady <- steadyAt,
        ])
        memory.count(queue: queue) { $0[start.state] += 1 }
        if start.state == .ready, memory.queues[queue].passed != nil {
            let place = ReadyKey(readySince: steady.moment, job: id)
            noteReady(memory.roomClass(of: job.definition), at: place, queue: queue, job.priority)
        }
        let endsAt = start.state == .scheduled ? steadyAt.map { steady.wallTime(ofWaitEnd: $0) } ?? dueAt : nil
        note(
            id, graph: graph, state: start.state, attempt: 0, dueAt: endsAt, cause: .accepted, input: job.input)
    }
}

struct EnqueueStatements: StatementGroup {
    let keys = KeyLookup()
    let stateOf = Statement("SELECT state, graph_id FROM job WHERE id = :job")
    let insertGraph = Statement(
        """
        INSERT INTO graph (id, name, enqueued_ms, finished_ms,
                           blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped)
        VALUES (:graph, :name, :now, :finished,
                :blocked, :scheduled, :ready, :running, :succeeded, :failed, :cancelled, :skipped)
        """)
    let insertJob = Statement(
        """
        INSERT INTO job (id, state, queue_id, priority, definition_id, graph_id, node, attempt, tries, rescues,
                         dependencies, pending, enqueued_ms, due_ms, finished_ms, repeats_id, steady_ms)
        VALUES (:job, :state, :queue, :priority, :definition, :graph, :node, 0, 0, 0,
                :dependencies, :pending, :now, :due, :finished, :repeats, :steady)
        """)
    let insertInput = Statement("INSERT INTO job_input (job_id, input) VALUES (:job, :input)")
    let insertDependency = Statement(
        """
        INSERT INTO dependency (dependent_id, position, dependency_id, condition)
        VALUES (:dependent, :position, :dependency, :condition)
        """)
    let insertKey = Statement(
        """
        INSERT INTO idempotency (key, fingerprint, graph_id, first_job_id, jobs)
        VALUES (:key, :fingerprint, :graph, :first, :jobs)
        """)
}

/// A graph could not be planned.
private enum PlanError: Error {
    case refused(EnqueueProblem)
    case failed(SQLiteError)
}
