import FoundationEssentials
import Jobs
import OperationTypes
import PostgreSQL

enum DefinitionReads {
    static let kindColumns = "name, summary, input_type, output_type, accepts, offers, fields"
    private static let select = """
        SELECT id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms,
               CASE WHEN replaced_ms IS NULL THEN halyard.problem_of(name) END, program
        FROM   halyard.definition
        """
    private static let selectGraph = """
        SELECT name, revision, body, updated_ms, halyard.problem_of(name)
        FROM   halyard.graph_definition
        """

    static let version = Statement("SELECT version FROM halyard.settings WHERE id = 1")
    /// If several daemons describe one kind, the last description counts.
    static let kinds = Statement(
        """
        SELECT   \(kindColumns)
        FROM     (SELECT DISTINCT ON (name) * FROM halyard.kind ORDER BY name, number DESC) AS kind
        ORDER BY name COLLATE "C"
        """)
    static let ownKinds = Statement(
        "SELECT \(kindColumns) FROM halyard.kind WHERE identity = $1::text ORDER BY name COLLATE \"C\"")
    static let all = Statement("\(select) WHERE replaced_ms IS NULL ORDER BY name COLLATE \"C\"")
    static let one = Statement("\(select) WHERE id = $1::bigint")
    static let current = Statement("\(select) WHERE name = $1::text AND replaced_ms IS NULL")
    static let graphs = Statement("\(selectGraph) WHERE replaced_ms IS NULL ORDER BY name COLLATE \"C\"")
    static let currentGraph = Statement("\(selectGraph) WHERE name = $1::text AND replaced_ms IS NULL")
    static let queues = Statement(
        """
        SELECT     name, "limit", limit_per_daemon, weight, paused_ms,
                   blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM       halyard.queue
        CROSS JOIN LATERAL halyard.tally(-queue.id) AS tally
        WHERE      removed_ms IS NULL
        ORDER BY   name COLLATE "C"
        """)
    static let counts = Statement(
        """
        SELECT     sum(blocked)::bigint, sum(scheduled)::bigint, sum(ready)::bigint, sum(running)::bigint,
                   sum(succeeded)::bigint, sum(failed)::bigint, sum(cancelled)::bigint, sum(skipped)::bigint
        FROM       halyard.queue
        CROSS JOIN LATERAL halyard.tally(-queue.id) AS tally
        """)
    static let nextDue = Statement(
        """
        SELECT least((SELECT min(due_ms) FROM halyard.scheduled WHERE steady_ms IS NULL),
                     (SELECT min(steady_ms) FROM halyard.scheduled WHERE steady_ms IS NOT NULL)
                         + (SELECT skew_ms FROM halyard.clock WHERE id = 1))
        """)
}

extension Reader {
    func definitionSet() throws(PostgresError) -> DefinitionSet {
        var set = DefinitionSet()
        set.version = try run(DefinitionReads.version).first.map { SettingsVersion($0.integer(0)) }
        set.kinds = try run(DefinitionReads.kinds).map { (row) throws(PostgresError) in try row.kindDescription() }
        set.queues = try queues().map(\.settings)
        set.definitions = try run(DefinitionReads.all).map { $0.storedDefinition() }
        set.graphs = try run(DefinitionReads.graphs).map { $0.storedGraphDefinition() }
        set.schedules = try allSchedules().filter { $0.unreadable == nil }.map(\.schedule)
        return set
    }

    func kinds(registeredBy identity: String) throws(PostgresError) -> [KindDescription] {
        try run(DefinitionReads.ownKinds, .text(identity)).map { (row) throws(PostgresError) in
            try row.kindDescription()
        }
    }

    func definition(_ id: DefinitionID) throws(PostgresError) -> StoredDefinition? {
        try run(DefinitionReads.one, .integer(id.rawValue)).first.map { $0.storedDefinition() }
    }

    func queues() throws(PostgresError) -> [QueueRecord] {
        try run(DefinitionReads.queues).map { row in
            QueueRecord(
                settings: row.queueSettings(from: 0), pausedAt: row.optionalTimestamp(4), counts: row.counts(from: 5))
        }
    }

    func counts() throws(PostgresError) -> StateCounts {
        try run(DefinitionReads.counts).first?.counts(from: 0) ?? StateCounts()
    }

    func nextDueAt() throws(PostgresError) -> Timestamp? {
        try run(DefinitionReads.nextDue).first?.optionalTimestamp(0)
    }

    func outcome(of key: IdempotencyKey) throws(PostgresError) -> EnqueueOutcome? {
        let row = try run(KeyLookup.find, .texts([key.name]))
        return KeyLookup.outcome(of: key, KeyLookup.entries(row))
    }
}

extension Row {
    /// Columns: name, limit, limit_per_daemon, weight.
    func queueSettings(from column: Int) -> QueueSettings {
        QueueSettings(
            name: string(column), limit: int(column + 1), limitPerDaemon: optionalInteger(column + 2).map { Int($0) },
            weight: int(column + 3))
    }

    /// Columns: id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem,
    /// program.
    func storedDefinition() -> StoredDefinition {
        var retry = RetryPolicy.never
        var unreadable: String?
        do throws(ShapeProblem) {
            retry = try RetryPolicy(json: json(7) ?? .emptyObject, at: [])
        } catch {
            unreadable = "retry: \(error)"
        }
        var program: ProgramDefinition?
        do throws(ShapeProblem) {
            program = try json(12).map { (json) throws(ShapeProblem) in try ProgramDefinition(json: json, at: []) }
        } catch {
            unreadable = "\(error)"
        }
        return StoredDefinition(
            id: DefinitionID(integer(0)), revision: int(2),
            definition: Definition(
                name: string(1), kind: string(3), summary: optionalString(4), queue: string(5),
                priority: Priority(rawValue: int(6)) ?? .normal, retry: retry,
                timeout: optionalInteger(8).map { .milliseconds($0) }, input: json(9) ?? .emptyObject,
                program: program),
            updatedAt: timestamp(10), problem: optionalString(11), unreadable: unreadable)
    }

    /// Columns: name, revision, body, updated_ms, problem.
    func storedGraphDefinition() -> StoredGraphDefinition {
        let definition: GraphDefinition
        var unreadable: String?
        do throws(ShapeProblem) {
            definition = try GraphDefinition(json: json(2) ?? .emptyObject, at: [])
        } catch {
            definition = GraphDefinition(name: string(0), nodes: [])
            unreadable = "\(error)"
        }
        return StoredGraphDefinition(
            revision: int(1), definition: definition, updatedAt: timestamp(3), problem: optionalString(4),
            unreadable: unreadable)
    }

    /// Columns: name, summary, input_type, output_type, accepts, offers, fields.
    func kindDescription() throws(PostgresError) -> KindDescription {
        let fields: [InputField]
        do {
            fields = try JSONDecoder().decode([InputField].self, from: Data(bytes(6) ?? []))
        } catch {
            throw PostgresError(.unexpected, message: "the fields of kind \(string(0)) are invalid: \(error)")
        }
        return KindDescription(
            name: string(0), summary: string(1), inputType: string(2), outputType: string(3),
            accepts: optionalString(4), offers: string(5), fields: fields)
    }
}
