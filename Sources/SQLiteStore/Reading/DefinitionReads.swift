import Jobs
import SQLite

extension Reader {
    func definitionSet() throws(SQLiteError) -> DefinitionSet {
        try snapshot { () throws(SQLiteError) in
            var set = DefinitionSet()
            while try definitions.kinds.step() { set.kinds.append(try definitions.kinds.kindDescription()) }
            set.queues = try queues().map(\.settings)
            while try definitions.current.step() {
                guard var known = knownDefinitions[DefinitionID(definitions.current.integer(0))] else {
                    set.definitions.append(try definitions.current.storedDefinition())
                    continue
                }
                known.problem = definitions.current.optionalString(11)
                set.definitions.append(known)
            }
            knownDefinitions = Dictionary(
                set.definitions.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            while try definitions.graphs.step() {
                set.graphs.append(try definitions.graphs.storedGraphDefinition())
            }
            set.schedules = try allSchedules().filter { $0.unreadable == nil }.map(\.schedule)
            return set
        }
    }

    func definition(_ id: DefinitionID) throws(SQLiteError) -> StoredDefinition? {
        definitions.one.bind(1, id.rawValue)
        guard try definitions.one.step() else { return nil }
        defer { definitions.one.reset() }
        return try definitions.one.storedDefinition()
    }

    func queues() throws(SQLiteError) -> [QueueRecord] {
        var queues: [QueueRecord] = []
        while try definitions.queues.step() {
            queues.append(
                QueueRecord(
                    settings: QueueSettings(
                        name: definitions.queues.string(0), limit: Int(definitions.queues.integer(1)),
                        weight: Int(definitions.queues.integer(2))),
                    pausedAt: definitions.queues.timestamp(3), counts: definitions.queues.tally(from: 4).counts))
        }
        return queues
    }

    func counts() throws(SQLiteError) -> StateCounts {
        defer { definitions.counts.reset() }
        return try definitions.counts.step() ? definitions.counts.tally(from: 0).counts : StateCounts()
    }

    func nextDueAt() throws(SQLiteError) -> Timestamp? {
        guard try definitions.nextDue.step() else { return nil }
        defer { definitions.nextDue.reset() }
        return definitions.nextDue.timestamp(0)
    }
}

struct DefinitionStatements: ~Copyable {
    static let kindsSQL: SQL = """
        SELECT   name, summary, input_type, output_type, accepts, offers, fields
        FROM     kind
        ORDER BY name
        """
    static let currentSQL: SQL = """
        SELECT   id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem
        FROM     definition
        WHERE    replaced_ms IS NULL
        ORDER BY name
        """
    static let oneSQL: SQL = """
        SELECT id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem
        FROM   definition
        WHERE  id = :definition
        """
    static let graphsSQL: SQL = """
        SELECT   name, revision, body, updated_ms, problem
        FROM     graph_definition
        WHERE    replaced_ms IS NULL
        ORDER BY name
        """
    static let queuesSQL: SQL = """
        SELECT   name, "limit", weight, paused_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     queue
        JOIN     tally ON tally.queue_id = queue.id
        WHERE    removed_ms IS NULL
        ORDER BY name
        """
    /// The earlier of the next calendar time and the end of the next wait.
    static let nextDueSQL: SQL = """
        SELECT min(due_ms)
        FROM   (SELECT *
                FROM   (SELECT   due_ms
                        FROM     job INDEXED BY job_due
                        WHERE    state = 1
                        AND      steady_ms IS NULL
                        ORDER BY due_ms
                        LIMIT    1)
                UNION ALL
                SELECT *
                FROM   (SELECT   steady_ms + (SELECT skew_ms FROM clock WHERE id = 1)
                        FROM     job INDEXED BY job_wait
                        WHERE    state = 1
                        AND      steady_ms IS NOT NULL
                        ORDER BY steady_ms
                        LIMIT    1))
        """
    static let countsSQL: SQL = """
        SELECT sum(blocked), sum(scheduled), sum(ready), sum(running),
               sum(succeeded), sum(failed), sum(cancelled), sum(skipped)
        FROM   tally
        """

    let kinds: Statement
    let current: Statement
    let one: Statement
    let graphs: Statement
    let queues: Statement
    let counts: Statement
    let nextDue: Statement

    init(_ connection: Connection) {
        kinds = connection.prepare(Self.kindsSQL)
        current = connection.prepare(Self.currentSQL)
        one = connection.prepare(Self.oneSQL)
        graphs = connection.prepare(Self.graphsSQL)
        queues = connection.prepare(Self.queuesSQL)
        counts = connection.prepare(Self.countsSQL)
        nextDue = connection.prepare(Self.nextDueSQL)
    }
}
