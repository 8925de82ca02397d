import Jobs
import SQLite
import StoreParts

extension Reader {
    func definitionSet() throws(SQLiteError) -> DefinitionSet {
        try snapshot { () throws(SQLiteError) in
            var set = DefinitionSet()
            set.version = try definitions.version.first { SettingsVersion($0.integer(0)) }
            set.kinds = try definitions.kinds.all { (row) throws(SQLiteError) in try row.kindDescription() }
            set.queues = try queues().map(\.settings)
            set.definitions = try definitions.current.all { row in
                guard var known = knownDefinitions[DefinitionID(row.integer(0))] else { return row.storedDefinition() }
                known.problem = row.optionalString(11)
                return known
            }
            knownDefinitions = Dictionary(
                set.definitions.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            set.graphs = try definitions.graphs.all { $0.storedGraphDefinition() }
            set.schedules = try allSchedules().filter { $0.unreadable == nil }.map(\.schedule)
            return set
        }
    }

    func definition(_ id: DefinitionID) throws(SQLiteError) -> StoredDefinition? {
        try definitions.one.first([.definition <- id]) { $0.storedDefinition() }
    }

    func queues() throws(SQLiteError) -> [QueueRecord] {
        try definitions.queues.all {
            QueueRecord(
                settings: $0.queueSettings(from: 0), pausedAt: $0.optionalTimestamp(4), counts: $0.tally(from: 5).counts
            )
        }
    }

    func counts() throws(SQLiteError) -> StateCounts {
        try definitions.counts.first { $0.tally(from: 0).counts } ?? StateCounts()
    }

    func nextDueAt() throws(SQLiteError) -> Timestamp? {
        try definitions.nextDue.first { $0.optionalTimestamp(0) } ?? nil
    }
}

struct DefinitionStatements: StatementGroup {
    static let select: SQL = """
        SELECT id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem,
               program
        FROM   definition
        """
    static let selectGraph: SQL = """
        SELECT name, revision, body, updated_ms, problem
        FROM   graph_definition
        """

    let version = Statement("SELECT settings_version FROM meta")
    let kinds = Statement(
        """
        SELECT   name, summary, input_type, output_type, accepts, offers, fields
        FROM     kind
        ORDER BY name
        """)
    let current = Statement("\(select) WHERE replaced_ms IS NULL ORDER BY name")
    let one = Statement("\(select) WHERE id = :definition")
    let graphs = Statement("\(selectGraph) WHERE replaced_ms IS NULL ORDER BY name")
    let queues = Statement(
        """
        SELECT   name, "limit", limit_per_daemon, weight, paused_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     queue
        JOIN     tally ON tally.queue_id = queue.id
        WHERE    removed_ms IS NULL
        ORDER BY name
        """)
    /// The earlier of the next calendar time and the end of the next wait.
    let nextDue = Statement(
        """
        SELECT min(due_ms)
        FROM   (SELECT *
                FROM   (SELECT   due_ms
                        FROM     job INDEXED BY job_due
                        WHERE    state = \(JobState.scheduled)
                        AND      steady_ms IS NULL
                        ORDER BY due_ms
                        LIMIT    1)
                UNION ALL
                SELECT *
                FROM   (SELECT   steady_ms + (SELECT skew_ms FROM clock WHERE id = 1)
                        FROM     job INDEXED BY job_wait
                        WHERE    state = \(JobState.scheduled)
                        AND      steady_ms IS NOT NULL
                        ORDER BY steady_ms
                        LIMIT    1))
        """)
    let counts = Statement(
        """
        SELECT sum(blocked), sum(scheduled), sum(ready), sum(running),
               sum(succeeded), sum(failed), sum(cancelled), sum(skipped)
        FROM   tally
        """)
}

extension Statement {
    /// Columns: name, limit, limit_per_daemon, weight.
    func queueSettings(from column: Int32) -> QueueSettings {
        QueueSettings(
            name: string(column), limit: Int(integer(column + 1)),
            limitPerDaemon: optionalInteger(column + 2).map { Int($0) }, weight: Int(integer(column + 3)))
    }
}
