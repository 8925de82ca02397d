import Jobs
import Moving
import SQLite

/// The statements that insert rows of ``Facts``.
final class FactWriting {
    private struct Insert {
        let statement: RowStatement
        /// The columns of the batch, in the order of the parameters.
        let columns: [FactColumn]
        /// The column that must not be NULL for a row to be inserted; nil to insert every row.
        let condition: String?
        /// A column and the value that it must have for a row to be inserted.
        let filter: (column: String, value: Int64)?
    }

    private let connection: Connection
    private let clock: MoveClock
    private var inserts: [Facts: [Insert]] = [:]

    init(_ connection: Connection, _ clock: MoveClock) {
        self.connection = connection
        self.clock = clock
    }

    func add(_ batch: FactBatch) throws(SQLiteError) {
        let inserts = try inserts(into: batch.table)
        try connection.execute("BEGIN IMMEDIATE")
        for insert in inserts {
            let values = insert.columns.map {
                (isText: $0.isText, values: batch[$0.name], isSteady: $0.name == "steady_ms")
            }
            let condition = insert.condition.map { name in
                (isText: batch.table.columns.contains(.text(name)), values: batch[name])
            }
            let filter = insert.filter.map { (values: batch[$0.column].integers, value: $0.value) }
            for row in 0..<batch.count {
                if let condition {
                    let isMissing =
                        condition.isText ? condition.values.texts[row] == nil : condition.values.integers[row] == nil
                    if isMissing { continue }
                }
                if let filter, filter.values[row] != filter.value { continue }
                for (index, column) in values.enumerated() {
                    if column.isText {
                        try insert.statement.bind(
                            column.values.texts[row].map { BoundValue.utf8($0) } ?? .null, to: index + 1)
                    } else {
                        var value = column.values.integers[row]
                        if column.isSteady { value = value.map { $0 - clock.skew } }
                        try insert.statement.bind(value, to: index + 1)
                    }
                }
                try insert.statement.run()
            }
        }
        try connection.execute("COMMIT")
        try connection.checkpointIfLong()
    }

    // MARK: Statements

    private func inserts(into table: Facts) throws(SQLiteError) -> [Insert] {
        if let known = inserts[table] { return known }
        let new: [Insert] =
            switch table {
            case .numbers: [try update(table, "meta", ["next_job": "next_job_id", "next_graph": "next_graph_id"])]
            case .queues: [try insert(table, "queue", ["number": "id"])]
            case .kinds: [try insert(table, "kind")]
            case .definitions: [try insert(table, "definition")]
            case .graphDefinitions: [try insert(table, "graph_definition")]
            case .schedules:
                [try insert(table, "schedule", ["last_job": "last_job_id", "last_graph": "last_graph_id"])]
            case .graphs: [try insert(table, "graph", without: ["first_job"])]
            case .jobs: try jobs()
            case .dependencies:
                [try insert(table, "dependency", ["dependent": "dependent_id", "dependency": "dependency_id"])]
            case .attempts: [try insert(table, "attempt", ["job": "job_id"])]
            case .keys: [try insert(table, "idempotency", ["first_job": "first_job_id", "graph": "graph_id"])]
            case .checkpoints: [try insert(table, "checkpoint", ["job": "job_id"])]
            case .counts: [try insert(table, "tally", ["queue": "queue_id"])]
            }
        inserts[table] = new
        return new
    }

    /// A job's row, its input, its result, and its successful attempt.
    private func jobs() throws(SQLiteError) -> [Insert] {
        let elsewhere = [
            "input", "result_attempt", "value", "code", "message", "detail", "connections", "usage",
        ]
        return [
            try insert(
                .jobs, "job",
                ["queue": "queue_id", "definition": "definition_id", "graph": "graph_id", "repeats": "repeats_id"],
                without: elsewhere),
            try insert(.jobs, "job_input", only: [("id", "job_id"), ("input", "input")], ifPresent: "input"),
            try insert(
                .jobs, "result",
                only: [
                    ("id", "job_id"), ("result_attempt", "attempt"), ("state", "outcome"),
                    ("finished_ms", "finished_ms"), ("value", "value"), ("code", "code"), ("message", "message"),
                    ("detail", "detail"),
                ], ifPresent: "result_attempt"),
            try insert(
                .jobs, "attempt",
                only: [
                    ("id", "job_id"), ("attempt", "number"), ("started_ms", "started_ms"), ("finished_ms", "ended_ms"),
                    ("connections", "connections"), ("usage", "usage"),
                ], constants: ", outcome", ", 0",
                where: ("state", Int64(JobState.succeeded.rawValue))),
        ]
    }

    private func insert(
        _ facts: Facts, _ table: String, _ names: [String: String] = [:], without: Set<String> = []
    ) throws(SQLiteError) -> Insert {
        let columns = facts.columns.filter { !without.contains($0.name) }
        return try insert(facts, table, only: columns.map { ($0.name, names[$0.name] ?? $0.name) })
    }

    private func insert(
        _ facts: Facts, _ table: String, _ names: [String: String] = [:], without: [String]
    ) throws(SQLiteError) -> Insert {
        try insert(facts, table, names, without: Set(without))
    }

    /// - Parameters:
    ///   - constants: Text to append to the list of columns and to the list of values.
    ///   - ifPresent: A column; rows in which it is NULL are left out.
    private func insert(
        _ facts: Facts, _ table: String, only pairs: [(column: String, name: String)], constants names: String = "",
        _ values: String = "", ifPresent: String? = nil, where filter: (column: String, value: Int64)? = nil
    ) throws(SQLiteError) -> Insert {
        let list = pairs.map { "\"\($0.name)\"" }.joined(separator: ", ")
        let parameters = (1...pairs.count).map { "?\($0)" }.joined(separator: ", ")
        let sql = "INSERT INTO \(table) (\(list)\(names)) VALUES (\(parameters)\(values))"
        return Insert(
            statement: try RowStatement(SQL(trusted: sql), on: connection),
            columns: pairs.map { pair in facts.columns.first { $0.name == pair.column } ?? .integer(pair.column) },
            condition: ifPresent, filter: filter)
    }

    private func update(_ facts: Facts, _ table: String, _ names: [String: String]) throws(SQLiteError) -> Insert {
        let columns = facts.columns
        let list = columns.enumerated().map { "\"\(names[$1.name] ?? $1.name)\" = ?\($0 + 1)" }.joined(separator: ", ")
        return Insert(
            statement: try RowStatement(SQL(trusted: "UPDATE \(table) SET \(list) WHERE id = 1"), on: connection),
            columns: columns, condition: nil, filter: nil)
    }
}

extension Connection {
    /// Copies the write-ahead log into the database if the log has become long.
    func checkpointIfLong() throws(SQLiteError) {
        if walPages >= 8000 { try checkpointIfPossible() }
    }
}
