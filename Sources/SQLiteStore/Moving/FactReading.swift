import Moving
import SQLite

extension Connection {
    /// Reads all rows of a table, in its order (M1).
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws {
        let columns = table.columns
        let select = try RowStatement(Self.select(table), on: self)
        defer { select.reset() }
        var batch = FactBatch(table)
        while try select.step() {
            for (index, column) in columns.enumerated() {
                if column.isText {
                    batch.append(select.bytes(index), to: index)
                } else {
                    batch.append(select.optionalInteger(index), to: index)
                }
            }
            batch.endRow()
            if batch.isFull {
                try body(batch)
                batch = FactBatch(table)
            }
        }
        if batch.count > 0 { try body(batch) }
    }

    /// Returns the statement that reads a table. A column without an expression has the same name in the database.
    static func select(_ table: Facts) -> SQL {
        let source = Source.of(table)
        let columns = table.columns.map { column in source.columns[column.name] ?? "\"\(column.name)\"" }
        return SQL(trusted: "SELECT \(columns.joined(separator: ", ")) FROM \(source.rows) ORDER BY \(source.order)")
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
                    rows: "meta", order: "id",
                    columns: [
                        // As in RememberStatements.
                        "next_job": "max(next_job_id, coalesce((SELECT max(id) FROM job), 0) + 1)",
                        "next_graph": "max(next_graph_id, coalesce((SELECT max(id) FROM graph), 0) + 1)",
                    ])
            case .queues: Source(rows: "queue", order: "id", columns: ["number": "id"])
            case .kinds: Source(rows: "kind", order: "name")
            case .definitions: Source(rows: "definition", order: "id")
            case .graphDefinitions: Source(rows: "graph_definition", order: "id")
            case .schedules:
                Source(
                    rows: "schedule", order: "name",
                    columns: [
                        "last_job": "last_job_id", "last_graph": "last_graph_id", "steady_ms": wall("steady_ms"),
                    ])
            case .graphs:
                Source(
                    rows: "graph", order: "id",
                    columns: ["first_job": "(SELECT min(job.id) FROM job WHERE job.graph_id = graph.id)"])
            case .jobs: jobs
            case .dependencies:
                Source(
                    rows: "dependency", order: "dependent_id, position",
                    columns: ["dependent": "dependent_id", "dependency": "dependency_id"])
            case .attempts:
                Source(rows: "attempt WHERE outcome <> 0", order: "job_id, number", columns: ["job": "job_id"])
            case .keys:
                Source(
                    rows: "idempotency", order: "first_job_id",
                    columns: ["first_job": "first_job_id", "graph": "graph_id"])
            case .checkpoints: Source(rows: "checkpoint", order: "job_id", columns: ["job": "job_id"])
            case .counts: Source(rows: "tally", order: "queue_id", columns: ["queue": "queue_id"])
            }
        }

        /// The row of a final job still contains the moment at which the job became ready. Nothing reads it, so it is
        /// not moved.
        private static let jobs: Source = {
            let own = [
                "state", "priority", "node", "dependencies", "pending", "attempt", "tries", "rescues", "enqueued_ms",
                "due_ms", "started_ms", "finished_ms", "cancel_ms",
            ]
            var columns = [
                "id": "job.id", "queue": "job.queue_id", "definition": "job.definition_id", "graph": "job.graph_id",
                "repeats": "job.repeats_id", "steady_ms": "iif(job.state < 3, \(wall("job.steady_ms")), NULL)",
                "input": "job_input.input", "result_attempt": "result.attempt", "value": "result.value",
                "code": "result.code", "message": "result.message", "detail": "result.detail",
                "connections": "success.connections", "usage": "success.usage",
            ]
            for name in own { columns[name] = "job.\(name)" }
            return Source(
                rows: """
                    job
                    LEFT JOIN job_input ON job_input.job_id = job.id
                    LEFT JOIN result ON result.job_id = job.id
                    LEFT JOIN attempt AS success
                           ON success.job_id = job.id AND success.number = job.attempt AND success.outcome = 0
                    """, order: "job.id", columns: columns)
        }()

        private static func wall(_ moment: String) -> String { "\(moment) + (SELECT skew_ms FROM clock)" }
    }

    /// The clock of the database.
    func moveClock() throws(SQLiteError) -> MoveClock {
        let clock = try prepare("SELECT boot, origin_ms, skew_ms, (SELECT max(steady_ms) FROM tally) FROM clock").first
        {
            MoveClock(boot: $0.string(0), origin: $0.integer(1), skew: $0.integer(2), seen: $0.integer(3))
        }
        guard let clock else { throw .damaged("the row of table clock is missing") }
        return clock
    }
}
