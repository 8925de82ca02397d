import Jobs
import Moving
import PostgreSQL

/// A database of a server to which jobs are moved. An advisory lock keeps daemons out. If the process dies, the mark in
/// the database still keeps them out.
package final class PostgresMoveTarget: MoveTarget {
    package let place: String
    package let content: MoveContent
    package private(set) var key: String
    private let connection: Connection
    private let isClockOwn: Bool
    private let sharesSpool: Bool
    private var writing: FactWriting?
    /// The identity of the daemon whose home has the files of the jobs; nil if the jobs have no files.
    package var home: String?

    /// Connects, and reserves the database.
    ///
    /// - Parameters:
    ///   - sharesSpool: Whether every daemon can read the files that callers have sent.
    ///   - isClockOwn: Whether callers control the clock, as tests do.
    ///   - creates: Whether to create the schema if there is none.
    /// - Throws: ``PostgresOpenError``, or ``MoveFailure`` if something uses the database.
    package init(
        _ url: String, options: PostgresStoreOptions, sharesSpool: Bool = false, isClockOwn: Bool = false,
        creates: Bool = true
    ) throws {
        place = DatabaseAddress.postgresql(url: url).description
        self.isClockOwn = isClockOwn
        self.sharesSpool = sharesSpool
        connection = try PostgresJobStore.connect(.toMove(url, options))
        try connection.run(Connection.settingsForMove)
        if try connection.schema() == nil {
            if !creates {
                (content, key) = (.nothing, "")
                return
            }
            try connection.migrate()
        }
        try connection.reserveForMove()
        content = try Self.content(connection)
        // A database that will be refused stays as it is.
        if case .jobs = content {
        } else {
            if creates { try connection.migrate() }
            try connection.requireOwnSchema()
        }
        key = try connection.identity()
    }

    deinit { connection.releaseAfterMove() }

    private static func content(_ connection: Connection) throws -> MoveContent {
        switch try connection.mark() {
        case (.moved, let mark)?: return .moved(mark)
        case (.unfinished, let mark)?: return .unfinished(mark)
        case nil: break
        }
        try connection.refuseDaemons()
        for (table, name) in [
            ("job", "jobs"), ("definition", "definitions"), ("graph_definition", "graph definitions"),
            ("schedule", "schedules"), ("idempotency", "keys"),
        ] where try connection.run("SELECT 1 FROM halyard.\(table) LIMIT 1").count > 0 {
            return .jobs(name)
        }
        return .nothing
    }

    package func begin(_ mark: MoveMark, _ clock: MoveClock) throws {
        try connection.runAlone { try prepare(mark, clock) }
        // The mark is durable. What a crash of the server loses is copied again, and the last commits are durable too.
        try connection.run("SET synchronous_commit = off")
        writing = FactWriting(
            connection, skew: isClockOwn ? clock.skew : 0, home: home, sharesSpool: sharesSpool)
    }

    /// Empties the database and marks it, in the running transaction.
    private func prepare(_ mark: MoveMark, _ clock: MoveClock) throws {
        try connection.run(
            """
            LOCK TABLE halyard.idempotency, halyard.job, halyard.definition, halyard.graph_definition, halyard.schedule,
                       halyard.daemon
            IN ACCESS EXCLUSIVE MODE
            """)
        // Another program may have used the database since the first look.
        guard try Self.content(connection) == content else {
            throw MoveFailure(.busy, "Another program has just changed \(place). Move again.")
        }
        if case .moved = content { try setAside(mark.at) }
        try connection.writeMark(mark, .unfinished)
        try connection.run(
            """
            TRUNCATE halyard.queue, halyard.kind, halyard.definition, halyard.graph_definition, halyard.problem,
                     halyard.schedule, halyard.lane, halyard.graph, halyard.job, halyard.dependency,
                     halyard.idempotency, halyard.attempt, halyard.kept, halyard.checkpoint, halyard.done,
                     halyard.blocked, halyard.scheduled, halyard.ready, halyard.running, halyard.tally_change,
                     halyard.tally_fold, halyard.floor, halyard.plan, halyard.plan_node, halyard.share,
                     halyard.daemon, halyard.drained, halyard.listener
            """)
        if isClockOwn {
            try connection.run(
                Statement(
                    """
                    UPDATE halyard.clock
                    SET    boot = $1::text, origin_ms = $2::bigint, skew_ms = $3::bigint, seen_ms = $4::bigint
                    WHERE  id = 1
                    """), [.text(clock.boot), .integer(clock.origin), .integer(clock.skew), .integer(clock.seen)])
        }
    }

    /// Renames a schema whose jobs were moved away, and creates a new one with the same identity, in the running
    /// transaction.
    private func setAside(_ now: Timestamp) throws {
        let time = now.iso8601.lowercased().filter { $0.isNumber || $0 == "t" }
        var name = "halyard_moved_\(time)"
        // An older schema of this name must not be replaced.
        var number = 2
        while try connection.run("SELECT to_regnamespace('\(name)') IS NOT NULL")[0].string(0) == "t" {
            name = "halyard_moved_\(time)_\(number)"
            number += 1
        }
        try connection.run("ALTER SCHEMA halyard RENAME TO \(name)")
        try connection.createSchema()
        try connection.run(Statement("UPDATE halyard.settings SET identity = $1::text::uuid"), [.text(key)])
    }

    package func add(_ batch: FactBatch) throws { try writing?.add(batch) }

    package func complete() throws {
        try connection.run(Self.separateSuspects)
        if let home { try connection.run(Self.bindReaders(to: home)) }
        // Otherwise the daemons' first statements would have no idea how large the tables are.
        try connection.run(Self.analyze)
    }

    private static let analyze = """
        DO $$
        DECLARE
            one record;
        BEGIN
            FOR one IN SELECT relname FROM pg_class WHERE relnamespace = 'halyard'::regnamespace
                       AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname LOOP
                EXECUTE format('ANALYZE halyard.%I', one.relname);
            END LOOP;
        END $$
        """

    /// Gives ready jobs lanes of suspects if their last attempt, apart from interrupted ones, ended in a crash. An attempt
    /// that was neither interrupted nor crashed has used up a try.
    private static let separateSuspects: String = {
        let suspects = """
            halyard.ready AS suspect
            JOIN   halyard.lane ON lane.id = suspect.lane
            WHERE  suspect.attempt > suspect.tries
            AND    (SELECT   outcome
                    FROM     halyard.attempt
                    WHERE    attempt.job = suspect.job
                    AND      attempt.outcome <> \(AttemptOutcome.interrupted.rawValue)
                    ORDER BY attempt.number DESC
                    LIMIT    1) = \(AttemptOutcome.crashed.rawValue)
            """
        return """
            BEGIN;
            INSERT INTO halyard.lane (queue, priority, kind, class, home)
            SELECT DISTINCT lane.queue, lane.priority, lane.kind, \(LaneClass.suspect.rawValue), lane.home
            FROM   \(suspects)
            ON CONFLICT DO NOTHING;
            UPDATE halyard.ready
            SET    lane = change.new, txid = 0
            FROM   (SELECT suspect.job, own.id AS new
                    FROM   halyard.lane AS own, \(suspects)
                    AND    own.queue = lane.queue AND own.priority = lane.priority AND own.kind = lane.kind
                    AND    own.class = \(LaneClass.suspect.rawValue) AND own.home IS NOT DISTINCT FROM lane.home) AS change
            WHERE  change.job = ready.job;
            COMMIT
            """
    }()

    /// Binds the open jobs that may read a result file to the daemon that has it, as the end of the dependency would have
    /// done.
    private static func bindReaders(to home: String) -> String {
        let bound = """
            (SELECT DISTINCT lane.id, bound.id AS new
             FROM   halyard.lane
             JOIN   halyard.lane AS bound ON bound.queue = lane.queue AND bound.priority = lane.priority
                                         AND bound.kind = lane.kind AND bound.class = lane.class
             WHERE  lane.home IS NULL AND bound.home = \(literal(home))) AS change
            """
        let readers = """
            EXISTS (SELECT 1 FROM halyard.dependency JOIN halyard.kept ON kept.job = dependency.dependency
                    WHERE dependency.dependent = open.job)
            """
        let lanes = """
            INSERT INTO halyard.lane (queue, priority, kind, class, home)
            SELECT DISTINCT lane.queue, lane.priority, lane.kind, lane.class, \(literal(home))
            FROM   (SELECT job, lane FROM halyard.blocked UNION ALL SELECT job, lane FROM halyard.scheduled
                    UNION ALL SELECT job, lane FROM halyard.ready) AS open
            JOIN   halyard.lane ON lane.id = open.lane
            WHERE  lane.home IS NULL AND \(readers)
            AND    coalesce((SELECT bool_or(kind.accepts IS NOT NULL) FROM halyard.kind WHERE kind.name = lane.kind), true)
            ON CONFLICT DO NOTHING;
            """
        let updates = ["blocked", "scheduled", "ready"].map { table in
            """
            UPDATE halyard.\(table) AS open
            SET    lane = change.new
            FROM   \(bound)
            WHERE  change.id = open.lane AND \(readers)
            AND    coalesce((SELECT bool_or(kind.accepts IS NOT NULL) FROM halyard.kind JOIN halyard.lane ON lane.kind = kind.name
                             WHERE lane.id = open.lane), true);
            """
        }
        return "BEGIN;\n" + lanes + "\n" + updates.joined(separator: "\n") + "\nCOMMIT"
    }

    package func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws {
        try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try connection.read(table, body)
        try connection.run("COMMIT")
    }

    package func markVerified() throws {
        try connection.run("SET synchronous_commit = on; UPDATE halyard.move SET is_verified = true")
    }

    package func finish() throws {
        try connection.run("SET synchronous_commit = on")
        try connection.runAlone {
            try connection.removeMark()
            try connection.run("UPDATE halyard.settings SET version = version + 1")
        }
    }
}
