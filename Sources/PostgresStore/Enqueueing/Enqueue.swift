import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Accepts graphs, each of them completely or not at all, with a few statements for all of them.
    func enqueue(_ graphs: [NewGraph], now passed: Timestamp) throws(PostgresError) -> [EnqueueOutcome] {
        let now = time.now(passed)
        var keys = try insertKeys(of: graphs)
        let plan = try plan(graphs, keys, now: now)
        let outcomes = try insert(graphs, plan, &keys, now: now)
        try dropUnused(keys)
        return outcomes
    }

    // MARK: Planning

    /// The decision about one graph.
    enum Decision {
        case refused(EnqueueProblem)
        /// The key belongs to an earlier request, or to an earlier graph of the same call.
        case answered(EnqueueOutcome)
        case repeats(graph: Int)
        /// `lanes` contains one lane for each job.
        case accepted(GraphPlan, lanes: [Lane])
    }

    /// Decides about all graphs without writing anything but locks, so that a refusal leaves no trace.
    ///
    /// - Parameter ending: The states of jobs whose attempts end in this transaction, and whose rows are between tables.
    func plan(
        _ graphs: [NewGraph], _ keys: NewKeys, ending: [JobID: JobState] = [:], now: Timestamp
    ) throws(PostgresError) -> [Decision] {
        let existing = try lockExisting(graphs, ending)
        let homes = try readHomes(of: graphs, existing)
        var first: [String: Int] = [:]
        var decisions: [Decision] = []
        decisions.reserveCapacity(graphs.count)
        for (index, graph) in graphs.enumerated() {
            precondition(!graph.jobs.isEmpty, "a graph has at least one job")
            // The search for dependents begins `maxJobs` numbers before a job, so a larger graph would hide some.
            precondition(graph.jobs.count <= Submission.maxJobs, "a graph has too many jobs")
            var decision = decide(graph, keys.known, existing, homes, now: now)
            if let key = graph.key, case .accepted = decision {
                if let earlier = first[key.name] {
                    decision =
                        graphs[earlier].key?.fingerprint == key.fingerprint
                        ? .repeats(graph: earlier) : .refused(.keyUsedForAnotherRequest(key: key.name))
                } else {
                    first[key.name] = index
                }
            }
            decisions.append(decision)
        }
        return decisions
    }

    private func decide(
        _ graph: NewGraph, _ keys: [String: KeyLookup.Entry],
        _ existing: [JobID: JobState], _ homes: Homes, now: Timestamp
    ) -> Decision {
        if let refusal = graph.hiddenText { return .refused(refusal) }
        if let key = graph.key, let outcome = KeyLookup.outcome(of: key, keys) { return .answered(outcome) }
        do throws(EnqueueProblem) {
            var lanes: [Lane] = []
            lanes.reserveCapacity(graph.jobs.count)
            for job in graph.jobs {
                guard let kind = known.kinds[job.definition] else { throw .unknownDefinition(job.definition) }
                guard let queue = known.queueByName[job.queue] else { throw .unknownQueue(job.queue) }
                lanes.append(
                    Lane(
                        queue: queue, priority: job.priority, kind: kind, laneClass: .fresh,
                        home: try homes.home(of: job, kind)))
            }
            let order = try GraphPlan.order(of: graph.jobs)
            let plan = try GraphPlan(graph.jobs, order: order, now: now) { (job, _) throws(EnqueueProblem) in
                guard let state = existing[job] else { throw .unknownDependency(job) }
                return state.outcome
            }
            return .accepted(plan, lanes: lanes)
        } catch {
            return .refused(error)
        }
    }

    // MARK: Existing jobs

    /// Reads the states of the existing jobs that the graphs depend on. Locks the rows of those that are open, so that
    /// none of them ends before this transaction has committed its edges.
    private func lockExisting(
        _ graphs: [NewGraph], _ ending: [JobID: JobState]
    ) throws(PostgresError) -> [JobID: JobState] {
        var wanted: Set<JobID> = []
        for graph in graphs { wanted.formUnion(graph.existingDependencies) }
        var found = ending.filter { wanted.contains($0.key) }
        if wanted.count == found.count { return found }
        // A job that moves from one table to another meanwhile may be missed, and is found by the next look. Most of
        // the jobs that stay missing do not exist.
        for _ in 0..<Self.looks {
            let missing = wanted.subtracting(found.keys).sorted()
            if missing.isEmpty { break }
            let (low, high) = Argument.bounds(missing)
            let exists = try run(Statements.existing, .jobs(missing), low, high).map { $0.job(0) }
            if exists.isEmpty { break }
            for statement in Statements.lock {
                let rest = exists.filter { found[$0] == nil }
                if rest.isEmpty { break }
                try run(statement, .jobs(rest)).forEach { found[$0.job(0)] = $0.state(1) }
            }
            let rest = exists.filter { found[$0] == nil }
            if rest.isEmpty { continue }
            try run(Statements.lockDone, .jobs(rest), low, high).forEach { found[$0.job(0)] = $0.state(1) }
        }
        return found
    }

    /// The number of looks for a job that changes its state all the time. Each look waits for the transaction that
    /// moves the job.
    private static let looks = 100

    // MARK: Writing

    /// Inserts the accepted graphs, one table after another.
    ///
    /// - Parameter first: The index of the first graph among those whose keys were inserted.
    func insert(
        _ graphs: [NewGraph], _ decisions: [Decision], _ keys: inout NewKeys, from first: Int = 0, now: Timestamp
    ) throws(PostgresError) -> [EnqueueOutcome] {
        var batch = NewRows()
        var jobs: Int64 = 0
        var graphCount: Int64 = 0
        for (index, (graph, decision)) in zip(graphs, decisions).enumerated() {
            guard case .accepted = decision, keys.numbers[first + index] == nil else { continue }
            jobs += Int64(graph.jobs.count)
            graphCount += graph.isGraph ? 1 : 0
        }
        var keyed: [(index: Int, key: IdempotencyKey, receipt: EnqueueReceipt)] = []
        var nextJob = jobs > 0 ? try takeJobs(jobs) : 0
        var nextGraph = graphCount > 0 ? try take(graphCount, from: "halyard.graph_number") : 0
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(graphs.count)
        for (index, (graph, decision)) in zip(graphs, decisions).enumerated() {
            switch decision {
            case .refused(let problem): outcomes.append(.refused(problem))
            case .answered(let outcome): outcomes.append(outcome)
            case .repeats(let earlier):
                if case .enqueued(var receipt) = outcomes[earlier] {
                    receipt.skipped = []
                    outcomes.append(.duplicate(receipt))
                } else {
                    outcomes.append(outcomes[earlier])
                }
            case .accepted(let plan, let lanes):
                let numbers = keys.numbers[first + index] ?? (graph.isGraph ? GraphID(nextGraph) : nil, nextJob)
                if keys.numbers[first + index] == nil {
                    nextGraph += graph.isGraph ? 1 : 0
                    nextJob += Int64(graph.jobs.count)
                }
                let receipt = try add(
                    graph, numbers.graph, plan, lanes, first: numbers.first, to: &batch, now: now)
                if let key = graph.key { keyed.append((first + index, key, receipt)) }
                outcomes.append(.enqueued(receipt))
            }
        }
        if !batch.jobs.isEmpty { try write(batch, now: now) }
        try use(keyed, &keys)
        return outcomes
    }

    /// Takes consecutive numbers.
    ///
    /// - Parameter rangeEnd: For numbers of jobs, the end of the current range of history as far as it is known; nil
    ///   for other numbers.
    func take(_ count: Int64, from sequence: String, rangeEnd: Int64? = nil) throws(PostgresError) -> Int64 {
        let rows = try run(Statements.take, .text(sequence), .integer(count), .integer(rangeEnd))
        guard let first = rows.first?.integer(0) else {
            throw PostgresError(.unexpected, message: "a sequence gave no number")
        }
        return first
    }

    /// Takes consecutive numbers of jobs. Adds ranges for them if nobody has done so ahead (N2).
    func takeJobs(_ count: Int64) throws(PostgresError) -> Int64 {
        var first: Int64 = 0
        for _ in 0..<Migration.rangeTries {
            first = try take(count, from: "halyard.job_number", rangeEnd: memory.rangeEnd)
            if first + count <= memory.rangeEnd { break }
            let end = try run(Statements.rangeEnd, .integer(first), .integer(count), .integer(options.rangeJobs))
            memory.rangeEnd = end.first?.integer(0) ?? 0
            if first + count <= memory.rangeEnd { break }
        }
        return first
    }

    private func add(
        _ graph: NewGraph, _ id: GraphID?, _ plan: GraphPlan, _ lanes: [Lane], first: Int64, to batch: inout NewRows,
        now: Timestamp
    ) throws(PostgresError) -> EnqueueReceipt {
        var skipped: [JobID] = []
        func number(_ job: NewDependency.Job) -> JobID {
            switch job {
            case .new(let index): JobID(first + Int64(index))
            case .existing(let id): id
            }
        }
        if let id {
            batch.graphs.append((id, graph.name, first, graph.jobs.count))
        }
        for (index, job) in graph.jobs.enumerated() {
            let start = plan.starts[index]
            let row = JobID(first + Int64(index))
            batch.jobs.append((row, try self.number(of: lanes[index]), id, job))
            for (position, dependency) in job.dependencies.enumerated() {
                batch.edges.append((row, position, number(dependency.job), dependency.condition))
            }
            let (dueAt, steadyAt) = waits(of: job, start.state, now: now)
            let open = OpenRow(
                job: row, lane: try self.number(of: lanes[index]), graph: id, attempt: 0, tries: 0, rescues: 0,
                dueAt: dueAt, steadyAt: steadyAt, startedAt: nil)
            switch start.state {
            case .blocked: batch.blocked.append((open, start.pending))
            case .scheduled: batch.scheduled.append(open)
            case .ready: batch.ready.append(open)
            default:
                skipped.append(row)
                if let cause = start.cause {
                    batch.skipped.append(
                        SkippedJob(
                            row: open, pending: start.pending, because: number(cause.dependency),
                            outcome: cause.outcome))
                }
            }
            count(queue: lanes[index].queue, graph: id, from: nil, to: start.state, now: now)
            let endsAt = start.state == .scheduled ? steadyAt.map { time.steady.wallTime(ofWaitEnd: $0) } ?? dueAt : nil
            note(row, graph: id, state: start.state, attempt: 0, dueAt: endsAt, cause: .accepted, input: job.input)
        }
        return EnqueueReceipt(
            graph: id, jobs: graph.jobs.indices.map { JobID(first + Int64($0)) }, skipped: skipped)
    }

    /// The due time of a new job, and the end of its wait or the time since which it is ready on the steady scale.
    private func waits(of job: NewJob, _ state: JobState, now: Timestamp) -> (Timestamp?, Timestamp?) {
        if state == .ready { return (now, time.steady.moment) }
        switch job.start {
        case .now: return (nil, nil)
        case .at(let moment): return (moment, nil)
        case .after(let wait):
            time.steady.notesWait(now: now)
            return (now + wait, time.steady.moment + wait)
        }
    }

    private enum Statements {
        static let take = Statement("SELECT halyard.take_numbers($1::text, $2::bigint, $3::bigint)")
        static let rangeEnd = Statement("SELECT halyard.range_end($1::bigint, $2::bigint, $3::bigint)")
        static let existing = Statement(
            "SELECT id FROM halyard.job WHERE id = ANY ($1::bigint[]) AND id BETWEEN $2::bigint AND $3::bigint")
        /// One statement for each table. Locks rows in the order of states from last to first, as the end of an attempt
        /// does, so that neither waits for the other. A job that moves on meanwhile is found by the next look.
        static let lock: [Statement] = [
            lock("running", .running), lock("ready", .ready), lock("scheduled", .scheduled), lock("blocked", .blocked),
        ]
        static let lockDone = Statement(
            """
            SELECT   job, outcome
            FROM     halyard.done
            WHERE    job = ANY ($1::bigint[])
            AND      job BETWEEN $2::bigint AND $3::bigint
            ORDER BY job
            FOR KEY SHARE
            """)

        private static func lock(_ table: String, _ state: JobState) -> Statement {
            Statement(
                """
                SELECT   job, \(state.rawValue)::bigint
                FROM     halyard.\(table)
                WHERE    job = ANY ($1::bigint[])
                ORDER BY job
                FOR SHARE
                """)
        }
    }
}

extension NewGraph {
    /// The existing jobs that the graph's jobs depend on.
    var existingDependencies: Set<JobID> {
        var found: Set<JobID> = []
        for job in jobs {
            for case .existing(let id) in job.dependencies.map(\.job) { found.insert(id) }
        }
        return found
    }
}
