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
        for (index, queue) in memory.queues.enumerated() where memory.queueIndex(id: queue.id) != index {
            throw SQLiteError(
                code: SQLiteError.Primary.corrupt.rawValue,
                message: "the numbers of the queues have a gap at \(queue.id)")
        }
        while try remembering.definitions.step() {
            memory.definitions.insert(DefinitionID(remembering.definitions.integer(0)))
        }
        while try remembering.running.step() {
            let row = remembering.running.runningJob(memory)
            memory.running[row.0] = row.1
        }
        while try remembering.nextNumbers.step() {
            memory.nextJob = remembering.nextNumbers.integer(0)
            memory.nextGraph = remembering.nextNumbers.integer(1)
        }
        self.memory = memory
    }
}

extension Statement {
    fileprivate func queue() -> QueueMemory {
        QueueMemory(
            id: integer(0), settings: QueueSettings(name: string(1), limit: Int(integer(2)), weight: Int(integer(3))),
            pausedAt: timestamp(4), isRemoved: !isNull(5), tally: tally(from: 6))
    }

    fileprivate func runningJob(_ memory: Memory) -> (JobID, RunningJob) {
        (
            JobID(integer(0)),
            RunningJob(
                attempt: Int(integer(1)), queue: memory.queueIndex(id: integer(2)),
                graph: optionalInteger(3).map(GraphID.init(_:)), startedAt: Timestamp(milliseconds: integer(4)),
                isCancelRequested: !isNull(5))
        )
    }
}

struct RememberStatements: ~Copyable {
    static let queuesSQL: StaticString = """
        SELECT   queue.id, name, concurrency, weight, paused_ms, removed_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     queue
        JOIN     tally ON tally.queue_id = queue.id
        ORDER BY queue.id
        """
    static let definitionsSQL: StaticString = "SELECT id FROM definition"
    static let runningSQL: StaticString = """
        SELECT   id, attempt, queue_id, graph_id, started_ms, cancel_ms
        FROM     job INDEXED BY job_open
        WHERE  state < 4
        AND    state = 3
        """
    /// Pruning writes to `meta` the numbers it frees; all others are still in use.
    static let nextNumbersSQL: StaticString = """
        SELECT max(next_job_id, coalesce((SELECT max(id) FROM job), 0) + 1),
               max(next_graph_id, coalesce((SELECT max(id) FROM graph), 0) + 1)
        FROM   meta
        """

    let queues: Statement
    let definitions: Statement
    let running: Statement
    let nextNumbers: Statement

    init(_ connection: Connection) {
        queues = connection.prepare(Self.queuesSQL)
        definitions = connection.prepare(Self.definitionsSQL)
        running = connection.prepare(Self.runningSQL)
        nextNumbers = connection.prepare(Self.nextNumbersSQL)
    }
}
