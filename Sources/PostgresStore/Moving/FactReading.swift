import Moving
import PostgreSQL

extension Connection {
    /// Reads all rows of a table, in its order (M1), in the running transaction.
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws {
        let columns = table.columns
        try run(
            """
            SET LOCAL cursor_tuple_fraction = 1;
            DECLARE halyard_move NO SCROLL CURSOR FOR \(Self.select(table))
            """)
        // A prepared statement keeps the columns of its first answer, so each table has its own.
        var fetches: [Int: Statement] = [:]
        var size = Self.firstFetch
        var batch = FactBatch(table)
        while true {
            let fetch = fetches[size] ?? Statement("FETCH \(size) FROM halyard_move")
            fetches[size] = fetch
            let rows = try run(fetch)
            if rows.count == 0 { break }
            var bytes = 0
            for index in 0..<rows.count {
                let row = rows[index]
                for (column, kind) in columns.enumerated() {
                    if kind.isText {
                        let text = row.bytes(column)
                        bytes += text?.count ?? 0
                        batch.append(text, to: column)
                    } else {
                        batch.append(row.optionalInteger(column), to: column)
                    }
                }
                batch.endRow()
                if batch.isFull {
                    try body(batch)
                    batch = FactBatch(table)
                }
            }
            // All rows of an answer are in memory, and the next ones may be larger than these.
            size = bytes < 1 << 20 ? min(2 * size, table.rowsMayBeLarge ? 128 : 4096) : Self.firstFetch
        }
        if batch.count > 0 { try body(batch) }
        try run("CLOSE halyard_move")
    }

    /// The number of rows to fetch while nothing is known about their size.
    private static let firstFetch = 8

    /// Returns the statement that reads a table. Columns without an expression of their own have the same name here.
    static func select(_ table: Facts) -> String {
        let source = Source.of(table)
        let columns = table.columns.map { column in
            let value = source.columns[column.name] ?? "\"\(column.name)\""
            return column.isText ? value : "(\(value))::bigint"
        }
        return "SELECT \(columns.joined(separator: ", ")) FROM \(source.rows) ORDER BY \(source.order)"
    }

    private struct Source {
        var rows: String
        var order: String
        /// The expressions of columns that have another name in the database.
        var columns: [String: String] = [:]

        static func of(_ table: Facts) -> Source {
            switch table {
            case .numbers:
                Source(
                    rows: "halyard.settings", order: "id",
                    columns: [
                        "next_job": "(SELECT last_value + is_called::integer FROM halyard.job_number)",
                        "next_graph": "(SELECT last_value + is_called::integer FROM halyard.graph_number)",
                    ])
            case .queues: Source(rows: "\(numberedQueues)", order: "number")
            case .kinds:
                // The last registration of each kind.
                Source(
                    rows: """
                        (SELECT DISTINCT ON (name COLLATE "C") * FROM halyard.kind
                         ORDER BY name COLLATE "C", number DESC) AS kind
                        """, order: "name COLLATE \"C\"")
            case .definitions: Source(rows: "halyard.definition", order: "id")
            case .graphDefinitions: Source(rows: "halyard.graph_definition", order: "id")
            case .schedules:
                Source(
                    rows: "halyard.schedule CROSS JOIN halyard.clock", order: "name COLLATE \"C\"",
                    columns: ["steady_ms": "schedule.steady_ms + clock.skew_ms"])
            case .graphs:
                Source(
                    rows: "halyard.graph CROSS JOIN LATERAL halyard.tally(graph.id) AS tally", order: "graph.id",
                    columns: [
                        "finished_ms": """
                        CASE WHEN tally.blocked + tally.scheduled + tally.ready + tally.running = 0
                             THEN tally.at_ms END
                        """
                    ])
            case .jobs: jobs
            case .dependencies: Source(rows: "halyard.dependency", order: "dependent, position")
            case .attempts: Source(rows: "halyard.attempt", order: "job, number")
            case .keys: Source(rows: "halyard.idempotency", order: "first_job")
            case .checkpoints: Source(rows: "halyard.checkpoint", order: "job")
            case .counts:
                Source(
                    rows: "\(numberedQueues) CROSS JOIN LATERAL halyard.tally(-queue.id) AS tally", order: "number",
                    columns: ["queue": "number"])
            }
        }

        /// The queues with consecutive numbers (M2).
        private static let numberedQueues =
            "(SELECT *, row_number() OVER (ORDER BY id) AS number FROM halyard.queue) AS queue"

        private static let jobs: Source = {
            let success = "CASE WHEN done.outcome = 4 THEN done."
            var columns = [
                "id": "job.id", "queue": "queue.number", "priority": "lane.priority", "definition": "job.definition",
                "graph": "job.graph", "node": "job.node", "repeats": "job.repeats", "dependencies": "job.dependencies",
                "enqueued_ms": "job.enqueued_ms", "input": "job.input",
                "state": """
                CASE WHEN done.job IS NOT NULL THEN done.outcome
                     WHEN blocked.job IS NOT NULL THEN 0
                     WHEN scheduled.job IS NOT NULL THEN 1
                     WHEN ready.job IS NOT NULL THEN 2
                     WHEN running.job IS NOT NULL THEN 3
                END
                """,
                "pending": "coalesce(done.pending, blocked.pending, 0)",
                "attempt": open("attempt", final: "last_attempt"), "tries": open("tries", final: "tries"),
                "rescues": open("rescues", final: "rescues"), "due_ms": open("due_ms", final: "due_ms"),
                "started_ms": open("started_ms", final: "started_ms"),
                "steady_ms": """
                coalesce(ready.steady_ms, scheduled.steady_ms, blocked.steady_ms) + clock.skew_ms
                """,
                "finished_ms": "done.finished_ms", "cancel_ms": "coalesce(done.cancel_ms, running.cancel_ms)",
                "result_attempt": "done.attempt", "connections": "\(success)connections END",
                "usage": "\(success)usage END",
            ]
            for name in ["value", "code", "message", "detail"] { columns[name] = "done.\(name)" }
            return Source(
                rows: """
                    halyard.job
                    JOIN halyard.lane ON lane.id = job.lane
                    JOIN \(numberedQueues) ON queue.id = lane.queue
                    CROSS JOIN halyard.clock
                    LEFT JOIN halyard.done ON done.job = job.id
                    LEFT JOIN halyard.blocked ON blocked.job = job.id
                    LEFT JOIN halyard.scheduled ON scheduled.job = job.id
                    LEFT JOIN halyard.ready ON ready.job = job.id
                    LEFT JOIN halyard.running ON running.job = job.id
                    """, order: "job.id", columns: columns)
        }()

        private static func open(_ column: String, final: String) -> String {
            let tables = ["ready", "scheduled", "blocked", "running"].map { "\($0).\(column)" }
            return "coalesce(done.\(final), \(tables.joined(separator: ", ")))"
        }
    }

    /// The clock of the database.
    ///
    /// - Parameter isOwn: Whether callers control the clock, as tests do. Otherwise it is the server's clock, whose
    ///   time needs no conversion.
    func moveClock(isOwn: Bool) throws(PostgresError) -> MoveClock {
        let row = try run(
            """
            SELECT boot, origin_ms, skew_ms, seen_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
            FROM   halyard.clock
            WHERE  id = 1
            """)[0]
        func number(_ column: Int) -> Int64 { Int64(row.string(column)) ?? 0 }
        return isOwn
            ? MoveClock(boot: row.string(0), origin: number(1), skew: number(2), seen: number(3))
            : MoveClock(boot: "", origin: 0, skew: number(2), seen: number(4))
    }
}

extension Facts {
    /// Whether a row may contain a megabyte.
    fileprivate var rowsMayBeLarge: Bool {
        switch self {
        case .kinds, .definitions, .graphDefinitions, .schedules, .jobs, .attempts, .checkpoints: true
        case .numbers, .queues, .graphs, .dependencies, .keys, .counts: false
        }
    }
}
