import FoundationEssentials
import Jobs
import OperationTypes
import PostgreSQL

/// The outcome of a change to definitions, before it is reported.
enum DefinitionOutcome: Sendable {
    case changed(SettingsVersion)
    case outdated
    case tooManySchedules
}

extension Writer {
    func change(
        _ change: DefinitionChange, checkedAt version: SettingsVersion?, now passed: Timestamp
    ) throws(PostgresError) -> DefinitionOutcome {
        let now = time.now(passed)
        guard try lockSettings(version) else { return .outdated }
        guard try hasRoom(for: change) else { return .tooManySchedules }
        let before = (queuesChanged, definitionsChanged, schedulesChanged)
        (queuesChanged, definitionsChanged, schedulesChanged) = (false, false, false)
        for queue in change.queues { _ = try self.change(queue, now: now) }
        for name in change.removals { try retire(name, now: now) }
        for definition in change.definitions { try write(definition, now: now) }
        for graph in change.graphs { try write(graph, now: now) }
        for name in change.scheduleRemovals { try removeSchedule(name) }
        for schedule in change.schedules { try write(schedule, now: now) }
        var current = SettingsVersion(known.version)
        if queuesChanged || definitionsChanged || schedulesChanged { current = try nextVersion() }
        queuesChanged = queuesChanged || before.0
        definitionsChanged = definitionsChanged || before.1
        schedulesChanged = schedulesChanged || before.2
        return .changed(current)
    }

    /// Whether the change keeps the number of schedules within the limit. Existing schedules can always be changed.
    private func hasRoom(for change: DefinitionChange) throws(PostgresError) -> Bool {
        if change.schedules.isEmpty { return true }
        let names = change.scheduleRemovals + change.schedules.map(\.name)
        let known = Set(try run(Statements.knownSchedules, .texts(names)).map { $0.string(0) })
        let removed = Set(change.scheduleRemovals).intersection(known)
        let added = Set(change.schedules.map(\.name)).filter { !known.contains($0) || removed.contains($0) }
        if added.count <= removed.count { return true }
        let count = try run(Statements.countSchedules).first?.int(0) ?? 0
        return count - removed.count + added.count <= Schedule.maxCount
    }

    // MARK: Kinds

    /// Replaces the kinds of the holder's identity.
    func register(_ kinds: [KindDescription], by holder: HolderID, now passed: Timestamp) throws(PostgresError) {
        _ = try lockSettings()
        guard let identity = try identity(of: holder) else { return }
        let old = try run(DefinitionReads.ownKinds, .text(identity)).map { (row) throws(PostgresError) in
            try row.kindDescription()
        }
        mustWritePlans = true
        if Set(old) == Set(kinds) { return }
        try run(Statements.deleteKinds, .text(identity))
        for kind in kinds {
            try run(
                Statements.insertKind, .text(kind.name), .text(identity), .text(kind.summary), .text(kind.inputType),
                .text(kind.outputType), .text(kind.accepts), .text(kind.offers), .utf8(try encode(kind.fields)),
                .time(time.now(passed)))
        }
        definitionsChanged = true
        try nextVersion()
    }

    /// Records the problems of the holder's identity. Observers are not notified: they record problems whenever
    /// definitions change, so a notification would make them record the problems again, without end.
    func recordProblems(_ problems: [String: String], by holder: HolderID) throws(PostgresError) {
        guard let identity = try identity(of: holder) else { return }
        try run(Statements.clearProblems, .text(identity))
        let entries = problems.sorted { $0.key < $1.key }
        // The entry without a name says that this daemon has judged.
        try run(
            Statements.recordProblems, .text(identity), .texts([""] + entries.map(\.key)),
            .texts([nil] + entries.map { Optional($0.value) }))
    }

    private func identity(of holder: HolderID) throws(PostgresError) -> String? {
        try run(Statements.identity, .integer(holder.rawValue)).first?.string(0)
    }

    // MARK: Revisions

    private func write(_ definition: Definition, now: Timestamp) throws(PostgresError) {
        let current = try run(DefinitionReads.current, .text(definition.name)).first.map { $0.storedDefinition() }
        if let current, current.definition == definition, current.unreadable == nil { return }
        try retire(definition.name, now: now)
        try run(
            Statements.insertDefinition, .text(definition.name), .text(definition.kind), .text(definition.summary),
            .text(definition.queue), .integer(definition.priority.rawValue), .json(definition.retry.json),
            .integer(definition.retry.tries), .integer(definition.timeout?.milliseconds), .json(definition.input),
            .time(now), .json(definition.program?.json))
        definitionsChanged = true
    }

    private func write(_ graph: GraphDefinition, now: Timestamp) throws(PostgresError) {
        let current = try run(DefinitionReads.currentGraph, .text(graph.name)).first
            .map { $0.storedGraphDefinition() }
        if let current, current.definition == graph, current.unreadable == nil { return }
        try retire(graph.name, now: now)
        try run(
            Statements.insertGraph, .text(graph.name), .json(graph.json), .text(graph.summary), .time(now))
        definitionsChanged = true
    }

    /// Definitions and graph definitions share one namespace, so a new definition of either sort replaces both.
    private func retire(_ name: String, now: Timestamp) throws(PostgresError) {
        let definitions = try run(Statements.retireDefinition, .text(name), .time(now)).changes
        let graphs = try run(Statements.retireGraph, .text(name), .time(now)).changes
        if definitions + graphs > 0 {
            try run(Statements.forgetProblem, .text(name))
            definitionsChanged = true
        }
    }

    private func encode(_ fields: [InputField]) throws(PostgresError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(fields))
        } catch {
            throw PostgresError(.unexpected, message: "the fields cannot be encoded as JSON: \(error)")
        }
    }

    private enum Statements {
        static let knownSchedules = Statement("SELECT name FROM halyard.schedule WHERE name = ANY ($1::text[])")
        static let countSchedules = Statement("SELECT count(*) FROM halyard.schedule")
        static let identity = Statement("SELECT identity FROM halyard.daemon WHERE id = $1::bigint")
        static let deleteKinds = Statement("DELETE FROM halyard.kind WHERE identity = $1::text")
        static let insertKind = Statement(
            """
            INSERT INTO halyard.kind (name, identity, number, summary, input_type, output_type, accepts, offers, fields,
                                      updated_ms)
            VALUES ($1::text, $2::text, nextval('halyard.registration'), $3::text, $4::text, $5::text, $6::text,
                    $7::text, $8::text, $9::bigint)
            """)
        static let clearProblems = Statement("DELETE FROM halyard.problem WHERE identity = $1::text")
        static let recordProblems = Statement(
            """
            INSERT INTO halyard.problem (identity, number, name, reason)
            SELECT $1::text, nextval('halyard.registration'), name, reason
            FROM   unnest($2::text[], $3::text[]) AS new (name, reason)
            """)
        static let forgetProblem = Statement("DELETE FROM halyard.problem WHERE name = $1::text")
        static let insertDefinition = Statement(
            """
            INSERT INTO halyard.definition (name, revision, kind, summary, queue, priority, retry, max_tries, timeout_ms,
                                            input, updated_ms, program)
            VALUES ($1::text, 1 + coalesce((SELECT max(revision) FROM halyard.definition WHERE name = $1::text), 0),
                    $2::text, $3::text, $4::text, $5::bigint, $6::text, $7::bigint, $8::bigint, $9::text, $10::bigint,
                    $11::text)
            """)
        static let insertGraph = Statement(
            """
            INSERT INTO halyard.graph_definition (name, revision, body, summary, updated_ms)
            VALUES ($1::text,
                    1 + coalesce((SELECT max(revision) FROM halyard.graph_definition WHERE name = $1::text), 0),
                    $2::text, $3::text, $4::bigint)
            """)
        static let retireDefinition = Statement(
            """
            UPDATE halyard.definition
            SET    replaced_ms = $2::bigint
            WHERE  name = $1::text
            AND    replaced_ms IS NULL
            """)
        static let retireGraph = Statement(
            """
            UPDATE halyard.graph_definition
            SET    replaced_ms = $2::bigint
            WHERE  name = $1::text
            AND    replaced_ms IS NULL
            """)
    }
}
