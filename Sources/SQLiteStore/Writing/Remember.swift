import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Reads ``memory`` from the database: at the start and after a rollback.
    func remember() throws(SQLiteError) {
        var memory = Memory()
        for queue in try remembering.queues.all(QueueMemory.init(_:)) {
            memory.queues.append(queue)
            let index = memory.queues.count - 1
            if !queue.isRemoved { memory.admit(queue: index) }
            if queue.id != Int64(index) + 1 { throw .damaged("the queue numbers have a gap at \(queue.id)") }
        }
        while try remembering.definitions.step() {
            let row = remembering.definitions
            memory.admit(DefinitionID(row.integer(0)), kind: row.string(1))
        }
        while try remembering.running.step() {
            let row = remembering.running
            memory.running[row.job(0)] = RunningJob(
                attempt: Int(row.integer(1)), queue: try memory.queueIndex(id: row.integer(2)), graph: row.graph(3),
                startedAt: row.timestamp(4), holder: row.optionalInteger(6).map(HolderID.init(_:)),
                isCancelRequested: !row.isNull(5))
        }
        while try remembering.checkpoints.step() { memory.checkpointed.insert(remembering.checkpoints.job(0)) }
        if let next = try remembering.nextNumbers.first({
            ($0.integer(0), $0.integer(1), SettingsVersion($0.integer(2)))
        }) {
            (memory.nextJob, memory.nextGraph, memory.settingsVersion) = next
        }
        for next in [memory.nextJob, memory.nextGraph] where !(1...Memory.maxNumber).contains(next) {
            throw .damaged("the next number of a job or graph is invalid: \(next)")
        }
        try rememberLongWork(in: &memory)
        try clock.read(into: &steady)
        self.memory = memory
    }

    private func rememberLongWork(in memory: inout Memory) throws(SQLiteError) {
        for row in try remembering.staged.all({
            (graph: GraphID($0.integer(0)), isGraph: $0.integer(1) != 0, isAccepted: $0.integer(2) != 0)
        }) {
            if row.isGraph || row.isAccepted {
                // When the store opens, the graph has no key in ``Unstored/needed`` yet.
                let needs = self.memory.writing[row.graph]?.needs ?? makeNeeds()
                memory.writing[row.graph] = AcceptedGraph(needs: needs, isGraph: row.isGraph)
                memory.work.append(.writing(row.graph))
            } else if !unstored.unaccepted.contains(row.graph) {
                memory.work.append(.discarding(row.graph))
            }
        }
        for (graph, accepted) in memory.writing where unstored.needed[accepted.needs] == nil {
            unstored.needed[accepted.needs] = try neededJobs(of: graph)
        }
        while try remembering.settling.step() {
            let row = remembering.settling
            guard let outcome = Outcome(rawValue: Int(row.integer(1))) else { continue }
            memory.settling[row.job(0)] = SettlingJob(
                job: row.job(0), outcome: outcome, at: row.timestamp(2), last: EdgeKey(row, from: 3))
            memory.work.append(.settling(row.job(0)))
        }
        while try remembering.cancelling.step() {
            let row = remembering.cancelling
            let graph = GraphID(row.integer(0))
            memory.cancelling[graph] = CancellingGraph(requestedAt: row.timestamp(1), below: row.job(2))
            memory.work.append(.cancelling(graph))
        }
        while try remembering.pruning.step() {
            let graph = GraphID(remembering.pruning.integer(0))
            memory.pruning[graph] = .checking(after: JobID(0))
            memory.work.append(.pruning(graph))
        }
    }

    private func neededJobs(of graph: GraphID) throws(SQLiteError) -> Set<JobID> {
        var jobs: Set<JobID> = []
        for part in try remembering.parts.all([.graph <- graph], { StagedPart($0.bytes(0) ?? []) }) {
            for entry in part?.entries ?? [] {
                for case .existing(let job) in entry.dependencies.map(\.job) { jobs.insert(job) }
            }
        }
        return jobs
    }
}

extension QueueMemory {
    fileprivate init(_ row: Statement) {
        self.init(
            id: row.integer(0),
            settings: row.queueSettings(from: 1), pausedAt: row.optionalTimestamp(5), isRemoved: !row.isNull(6),
            tally: row.tally(from: 7))
    }
}

struct RememberStatements: StatementGroup {
    let queues = Statement(
        """
        SELECT   queue.id, name, "limit", limit_per_daemon, weight, paused_ms, removed_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     queue
        JOIN     tally ON tally.queue_id = queue.id
        ORDER BY queue.id
        """)
    let definitions = Statement("SELECT id, kind FROM definition")
    let running = Statement(
        """
        SELECT   id, attempt, queue_id, graph_id, started_ms, cancel_ms, holder_id
        FROM     job INDEXED BY job_open
        WHERE    state < \(JobState.firstFinal)
        AND      state = \(JobState.running)
        """)
    let checkpoints = Statement("SELECT job_id FROM checkpoint")
    /// A prune or a staged graph stores the next numbers in `meta`, since the rows with the highest numbers may be
    /// missing. Otherwise the next numbers follow from the rows.
    let nextNumbers = Statement(
        """
        SELECT max(next_job_id, coalesce((SELECT max(id) FROM job), 0) + 1),
               max(next_graph_id, coalesce((SELECT max(id) FROM graph), 0) + 1),
               settings_version
        FROM   meta
        """)
    /// The graphs with stored parts, and whether each was accepted.
    let staged = Statement(
        """
        SELECT   graph_id, EXISTS (SELECT 1 FROM graph WHERE id = part.graph_id),
                 EXISTS (SELECT 1 FROM staged_part AS acceptance WHERE acceptance.graph_id = -part.graph_id)
        FROM     staged_part AS part
        WHERE    graph_id > 0
        GROUP BY graph_id
        ORDER BY graph_id
        """)
    let parts = Statement("SELECT body FROM staged_part WHERE graph_id = :graph")
    let settling = Statement(
        """
        SELECT   job_id, outcome, at_ms, last_condition, last_job_id, last_position
        FROM     settling
        ORDER BY job_id
        """)
    let cancelling = Statement("SELECT graph_id, requested_ms, below_id FROM cancelling ORDER BY graph_id")
    let pruning = Statement("SELECT graph_id FROM pruning ORDER BY graph_id")
}
