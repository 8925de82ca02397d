import Jobs
import SQLite

extension Writer {
    /// Reads ``memory`` from the database: at the start and after a rollback.
    func remember() throws(SQLiteError) {
        var memory = Memory()
        while try remembering.queues.step() {
            memory.queues.append(remembering.queues.queue())
            let index = memory.queues.count - 1
            if !memory.queues[index].isRemoved { memory.admit(queue: index) }
        }
        for (index, queue) in memory.queues.enumerated() where queue.id != Int64(index) + 1 {
            throw .damaged("the queue numbers have a gap at \(queue.id)")
        }
        while try remembering.definitions.step() {
            memory.definitions.insert(DefinitionID(remembering.definitions.integer(0)))
        }
        while try remembering.running.step() {
            let row = try remembering.running.runningJob(memory)
            memory.running[row.0] = row.1
        }
        while try remembering.nextNumbers.step() {
            memory.nextJob = remembering.nextNumbers.integer(0)
            memory.nextGraph = remembering.nextNumbers.integer(1)
        }
        for next in [memory.nextJob, memory.nextGraph] where !(1...Memory.maxNumber).contains(next) {
            throw .damaged("the next number of a job or graph is invalid: \(next)")
        }
        try rememberLongWork(in: &memory)
        try clock.read(into: &steady)
        self.memory = memory
    }

    private func rememberLongWork(in memory: inout Memory) throws(SQLiteError) {
        while try remembering.staged.step() {
            let graph = GraphID(remembering.staged.integer(0))
            let isGraph = remembering.staged.integer(1) != 0
            if isGraph || remembering.staged.integer(2) != 0 {
                // When the store opens, the graph has no key in ``Unstored/needed`` yet.
                let needs = self.memory.writing[graph]?.needs ?? makeNeeds()
                memory.writing[graph] = AcceptedGraph(needs: needs, isGraph: isGraph)
                memory.work.append(.writing(graph))
            } else if !unstored.unaccepted.contains(graph) {
                memory.work.append(.discarding(graph))
            }
        }
        for (graph, accepted) in memory.writing where unstored.needed[accepted.needs] == nil {
            unstored.needed[accepted.needs] = try neededJobs(of: graph)
        }
        while try remembering.settling.step() {
            let job = JobID(remembering.settling.integer(0))
            guard let outcome = Outcome(rawValue: Int(remembering.settling.integer(1))) else { continue }
            memory.settling[job] = SettlingJob(
                job: job, outcome: outcome, at: Timestamp(milliseconds: remembering.settling.integer(2)),
                last: EdgeKey(
                    condition: Int(remembering.settling.integer(3)), job: remembering.settling.integer(4),
                    position: Int(remembering.settling.integer(5))))
            memory.work.append(.settling(job))
        }
        while try remembering.cancelling.step() {
            let graph = GraphID(remembering.cancelling.integer(0))
            memory.cancelling[graph] = CancellingGraph(
                askedAt: Timestamp(milliseconds: remembering.cancelling.integer(1)),
                below: remembering.cancelling.integer(2))
            memory.work.append(.cancelling(graph))
        }
        while try remembering.pruning.step() {
            let graph = GraphID(remembering.pruning.integer(0))
            memory.pruning[graph] = .checking(after: 0)
            memory.work.append(.pruning(graph))
        }
    }

    private func neededJobs(of graph: GraphID) throws(SQLiteError) -> Set<JobID> {
        var jobs: Set<JobID> = []
        remembering.parts.bind(1, graph.rawValue)
        while try remembering.parts.step() {
            for entry in StagedPart(remembering.parts.bytes(0) ?? [])?.entries ?? [] {
                for case .existing(let job) in entry.dependencies.map(\.job) { jobs.insert(job) }
            }
        }
        return jobs
    }
}

extension Statement {
    fileprivate func queue() -> QueueMemory {
        QueueMemory(
            id: integer(0), settings: QueueSettings(name: string(1), limit: Int(integer(2)), weight: Int(integer(3))),
            pausedAt: timestamp(4), isRemoved: !isNull(5), tally: tally(from: 6))
    }

    fileprivate func runningJob(_ memory: Memory) throws(SQLiteError) -> (JobID, RunningJob) {
        (
            JobID(integer(0)),
            RunningJob(
                attempt: Int(integer(1)), queue: try memory.queueIndex(id: integer(2)),
                graph: optionalInteger(3).map(GraphID.init(_:)), startedAt: Timestamp(milliseconds: integer(4)),
                isCancelRequested: !isNull(5))
        )
    }
}

struct RememberStatements: ~Copyable {
    static let queuesSQL: SQL = """
        SELECT   queue.id, name, "limit", weight, paused_ms, removed_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     queue
        JOIN     tally ON tally.queue_id = queue.id
        ORDER BY queue.id
        """
    static let definitionsSQL: SQL = "SELECT id FROM definition"
    static let runningSQL: SQL = """
        SELECT   id, attempt, queue_id, graph_id, started_ms, cancel_ms
        FROM     job INDEXED BY job_open
        WHERE  state < 4
        AND    state = 3
        """
    /// A prune or a staged graph stores the next numbers in `meta`, since the rows with the highest numbers may be
    /// missing. Otherwise the next numbers follow from the rows.
    static let nextNumbersSQL: SQL = """
        SELECT max(next_job_id, coalesce((SELECT max(id) FROM job), 0) + 1),
               max(next_graph_id, coalesce((SELECT max(id) FROM graph), 0) + 1)
        FROM   meta
        """

    /// The graphs with stored parts, and whether each was accepted.
    static let stagedSQL: SQL = """
        SELECT   graph_id, EXISTS (SELECT 1 FROM graph WHERE id = part.graph_id),
                 EXISTS (SELECT 1 FROM staged_part AS acceptance WHERE acceptance.graph_id = -part.graph_id)
        FROM     staged_part AS part
        WHERE    graph_id > 0
        GROUP BY graph_id
        ORDER BY graph_id
        """
    static let partsSQL: SQL = "SELECT body FROM staged_part WHERE graph_id = :graph"
    static let settlingSQL: SQL = """
        SELECT   job_id, outcome, at_ms, last_condition, last_job_id, last_position
        FROM     settling
        ORDER BY job_id
        """
    static let cancellingSQL: SQL = "SELECT graph_id, requested_ms, below_id FROM cancelling ORDER BY graph_id"
    static let pruningSQL: SQL = "SELECT graph_id FROM pruning ORDER BY graph_id"

    let queues: Statement
    let definitions: Statement
    let running: Statement
    let nextNumbers: Statement
    let staged: Statement
    let parts: Statement
    let settling: Statement
    let cancelling: Statement
    let pruning: Statement

    init(_ connection: Connection) {
        queues = connection.prepare(Self.queuesSQL)
        definitions = connection.prepare(Self.definitionsSQL)
        running = connection.prepare(Self.runningSQL)
        nextNumbers = connection.prepare(Self.nextNumbersSQL)
        staged = connection.prepare(Self.stagedSQL)
        parts = connection.prepare(Self.partsSQL)
        settling = connection.prepare(Self.settlingSQL)
        cancelling = connection.prepare(Self.cancellingSQL)
        pruning = connection.prepare(Self.pruningSQL)
    }
}
