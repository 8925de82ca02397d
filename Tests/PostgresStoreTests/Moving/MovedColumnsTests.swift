import Moving
import PostgreSQL
import Testing

@testable import PostgresStore

/// A move reads every column of the schema, or a reason is given here why it does not.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct MovedColumnsTests {
    private static let moved: [String: Facts] = [
        "queue": .queues, "kind": .kinds, "definition": .definitions, "graph_definition": .graphDefinitions,
        "schedule": .schedules, "graph": .graphs, "job": .jobs, "lane": .jobs, "done": .jobs, "blocked": .jobs,
        "scheduled": .jobs, "ready": .jobs, "dependency": .dependencies, "attempt": .attempts, "idempotency": .keys,
        "checkpoint": .checkpoints,
    ]

    /// Why a table or a column is not moved.
    private static let exceptions = [
        "clock": "moved as MoveClock",
        "daemon": "each daemon registers itself when it starts",
        "drained": "daemons of another database", "listener": "exists only while a store is open",
        "running": "no job is running (M4)",
        "settings": "counts changes within one database, and identifies it",
        "schema_version": "belongs to the database",
        "share": "the slots of daemons that have ended", "floor": "made of this server's transactions",
        "plan": "compiled from definitions when a daemon starts",
        "plan_node": "compiled from definitions when a daemon starts",
        "problem": "each daemon finds it again",
        "kept": "follows from the values of jobs and the home", "range": "a division of this store's tables",
        "tally_change": "moved as sums, by halyard.tally", "tally_fold": "moved as sums, by halyard.tally",
        "kind.identity": "the daemon that registered the kind", "kind.number": "the order of registrations",
        "graph.jobs": "the sum of its counts",
        "blocked.half": "a place in this store's tables", "scheduled.half": "a place in this store's tables",
        "ready.half": "a place in this store's tables", "ready.txid": "made of this server's transactions",
        "lane.class": "follows from the state and the attempts", "lane.home": "follows from the files of the job",
        "lane.kind": "the kind of the definition",
        "blocked.graph": "equals job.graph", "scheduled.graph": "equals job.graph", "ready.graph": "equals job.graph",
    ]

    @Test func everyColumnIsMovedOrHasAReason() throws {
        let database = try TestDatabase()
        let connection = try Connection(to: database.url)
        try connection.migrate()
        let columns = try connection.run(
            """
            SELECT pg_class.relname, pg_attribute.attname
            FROM   pg_class
            JOIN   pg_attribute ON pg_attribute.attrelid = pg_class.oid
            WHERE  pg_class.relnamespace = 'halyard'::regnamespace AND pg_class.relkind IN ('r', 'p')
            AND    NOT pg_class.relispartition AND pg_attribute.attnum > 0 AND NOT pg_attribute.attisdropped
            """
        ).map { (table: $0.string(0), column: $0.string(1)) }
        #expect(columns.count > 100)
        var used: Set<String> = []
        for (table, column) in columns {
            let exception = [table, "\(table).\(column)"].first { Self.exceptions[$0] != nil }
            if let exception { used.insert(exception) }
            let facts = Self.moved[table]
            #expect(facts != nil || exception == table, "a move leaves out the table \(table)")
            guard let facts, exception == nil else { continue }
            let words = Connection.select(facts).split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            #expect(words.contains { $0 == column }, "a move leaves out \(table).\(column)")
        }
        #expect(used == Set(Self.exceptions.keys))
    }
}
