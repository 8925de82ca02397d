import Jobs
import Moving
import PostgreSQL

/// Inserts rows of ``Facts``.
final class FactWriting {
    private let connection: Connection
    /// The difference to subtract from a time of the wall clock to get a time on the steady scale.
    private let skew: Int64
    /// The identity of the daemon whose home has the files of the jobs; nil if every daemon can read them.
    private let home: String?
    /// Whether every daemon can read the files that callers have sent.
    private let sharesSpool: Bool
    /// The kind of each revision of a definition.
    private var kinds: [Int64: String] = [:]
    private var lanes: [Lane: Int64] = [:]

    /// A lane of ``LaneClass/fresh`` jobs.
    private struct Lane: Hashable {
        var queue: Int64
        var priority: Int64
        var kind: String
        var home: String?
    }

    init(_ connection: Connection, skew: Int64, home: String?, sharesSpool: Bool) {
        self.connection = connection
        self.skew = skew
        self.home = home
        self.sharesSpool = sharesSpool
    }

    func add(_ batch: FactBatch) throws {
        try connection.run("BEGIN")
        switch batch.table {
        case .numbers: try prepareTables(batch)
        case .queues:
            try insert(batch, into: "queue", ["number": "id"])
            try connection.run("SELECT setval('halyard.queue_id_seq', (SELECT max(id) FROM halyard.queue))")
        case .kinds:
            try insert(batch, into: "kind", adding: [("identity", .text(home ?? "moved")), ("number", .integer(0))])
        case .definitions:
            try insert(batch, into: "definition")
            for (id, kind) in zip(batch["id"].integers, batch["kind"].texts) {
                if let id, let kind { kinds[id] = String(decoding: kind, as: UTF8.self) }
            }
            try connection.run("SELECT setval('halyard.definition_id_seq', (SELECT max(id) FROM halyard.definition))")
        case .graphDefinitions:
            try insert(batch, into: "graph_definition")
            try connection.run(
                "SELECT setval('halyard.graph_definition_id_seq', (SELECT max(id) FROM halyard.graph_definition))")
        case .schedules: try insert(batch, into: "schedule")
        case .graphs: try addGraphs(batch)
        case .jobs: try addJobs(batch)
        case .dependencies: try insert(batch, into: "dependency")
        case .attempts: try insert(batch, into: "attempt")
        case .keys: try insert(batch, into: "idempotency")
        case .checkpoints: try insert(batch, into: "checkpoint")
        case .counts: try addCounts(batch)
        }
        try connection.run("COMMIT")
    }

    /// Sets the next numbers of jobs and graphs, and adds the ranges of history for all jobs (N1).
    private func prepareTables(_ batch: FactBatch) throws {
        guard let job = batch["next_job"].integers[0], let graph = batch["next_graph"].integers[0] else { return }
        let width = Int64(PostgresStoreOptions.usualRangeJobs)
        try connection.run(
            """
            SELECT setval('halyard.job_number', \(job), false), setval('halyard.graph_number', \(graph), false),
                   halyard.add_ranges(\(job + width), \(width)), halyard.publish_ranges()
            """)
    }

    private func addGraphs(_ batch: FactBatch) throws {
        let states = Facts.states.map { batch[$0.name].integers }
        let jobs = (0..<batch.count).map { row in states.reduce(Int64(0)) { $0 + ($1[row] ?? 0) } }
        try insert(
            ["id", "name", "enqueued_ms", "first_job"].map { column($0, batch) } + [
                ("jobs", .integers(jobs), "bigint")
            ],
            into: "graph")
        let at = zip(batch["finished_ms"].integers, batch["enqueued_ms"].integers).map { $0 ?? $1 }
        try addTallies(batch["id"].integers, at: at, batch)
    }

    private func addCounts(_ batch: FactBatch) throws {
        let subjects = batch["queue"].integers.map { $0.map { -$0 } }
        try addTallies(subjects, at: Array(repeating: 0, count: batch.count), batch)
    }

    /// Adds counts as sums that are older than every transaction.
    private func addTallies(_ subjects: [Int64?], at: [Int64?], _ batch: FactBatch) throws {
        try insert(
            [
                ("subject", .integers(subjects), "bigint"),
                ("txid", .integers(Array(repeating: Int64(0), count: batch.count)), "bigint"),
                ("at_ms", .integers(at), "bigint"),
            ] + Facts.states.map { column($0.name, batch) }, into: "tally_fold")
    }

    // MARK: Jobs

    private func addJobs(_ batch: FactBatch) throws {
        let states = batch["state"].integers
        let inputs = batch["input"].texts
        let (queues, priorities) = (batch["queue"].integers, batch["priority"].integers)
        let definitions = batch["definition"].integers
        var rowLanes: [Int64?] = []
        var newLanes: [(number: Int64, lane: Lane)] = []
        for row in 0..<batch.count {
            let lane = Lane(
                queue: queues[row] ?? 0, priority: priorities[row] ?? 0, kind: kinds[definitions[row] ?? 0] ?? "",
                home: home(of: inputs[row]))
            if let known = lanes[lane] {
                rowLanes.append(known)
            } else {
                let number = Int64(lanes.count) + 1
                lanes[lane] = number
                newLanes.append((number, lane))
                rowLanes.append(number)
            }
        }
        if !newLanes.isEmpty {
            try insert(
                [
                    ("id", .integers(newLanes.map(\.number)), "bigint"),
                    ("queue", .integers(newLanes.map(\.lane.queue)), "bigint"),
                    ("priority", .integers(newLanes.map(\.lane.priority)), "bigint"),
                    ("kind", .texts(newLanes.map(\.lane.kind)), "text"),
                    ("class", .integers(newLanes.map { _ in LaneClass.fresh.rawValue }), "bigint"),
                    ("home", .texts(newLanes.map(\.lane.home)), "text"),
                ], into: "lane")
            try connection.run("SELECT setval('halyard.lane_id_seq', \(lanes.count))")
        }
        try insert(
            ["id", "definition", "graph", "node", "repeats", "dependencies", "enqueued_ms", "input"]
                .map { column($0, batch) } + [("lane", .integers(rowLanes), "bigint")], into: "job")
        for state in [JobState.blocked, .scheduled, .ready] { try addOpen(batch, state, states, rowLanes) }
        try addFinal(batch, states)
    }

    /// The identity of the only daemon that can run a job with this input.
    private func home(of input: [UInt8]?) -> String? {
        let files = SpooledFile.files(in: input.map { JSONText(trusted: $0) })
        if files.isEmpty { return nil }
        return files.lazy.compactMap(\.home).first ?? (sharesSpool ? nil : home)
    }

    private func addOpen(_ batch: FactBatch, _ state: JobState, _ states: [Int64?], _ lanes: [Int64?]) throws {
        let rows = (0..<batch.count).filter { states[$0] == Int64(state.rawValue) }
        if rows.isEmpty { return }
        var columns =
            ["graph", "attempt", "tries", "rescues", "due_ms", "steady_ms", "started_ms"].map {
                column($0, batch, rows)
            } + [column("id", batch, rows, as: "job"), ("lane", .integers(rows.map { lanes[$0] }), "bigint")]
        if state == .blocked { columns.append(column("pending", batch, rows)) }
        // There are no floors yet, so any number of a transaction is valid (S2).
        if state == .ready { columns.append(("txid", .integers(rows.map { _ in Int64(1) }), "bigint")) }
        try insert(columns, into: state.name)
    }

    private func addFinal(_ batch: FactBatch, _ states: [Int64?]) throws {
        let rows = (0..<batch.count).filter { (states[$0] ?? 0) >= Int64(JobState.succeeded.rawValue) }
        if rows.isEmpty { return }
        let same = [
            "tries", "rescues", "pending", "due_ms", "started_ms", "finished_ms", "cancel_ms", "value", "code",
            "message", "detail", "connections", "usage",
        ]
        try insert(
            same.map { column($0, batch, rows) } + [
                column("id", batch, rows, as: "job"), column("state", batch, rows, as: "outcome"),
                column("result_attempt", batch, rows, as: "attempt"),
                column("attempt", batch, rows, as: "last_attempt"),
            ], into: "done")
        guard let home else { return }
        let values = batch["value"].texts
        let kept = rows.filter { values[$0].map { JSONText(trusted: $0).isKeptFile } ?? false }
        if kept.isEmpty { return }
        try insert(
            [column("id", batch, kept, as: "job"), ("home", .texts(kept.map { _ in home }), "text")], into: "kept")
    }

    // MARK: Statements

    /// A column of a table in the database, with its values and their type.
    private typealias Column = (name: String, values: Argument, type: String)

    private func column(_ name: String, _ batch: FactBatch, _ rows: [Int]? = nil, as other: String? = nil) -> Column {
        let values = batch[name]
        let isText = batch.table.columns.contains(.text(name))
        if isText {
            let texts = rows.map { $0.map { values.texts[$0] } } ?? values.texts
            return (other ?? name, .utf8s(texts), "text")
        }
        var integers = rows.map { $0.map { values.integers[$0] } } ?? values.integers
        if name == "steady_ms" { integers = integers.map { $0.map { $0 - skew } } }
        return (other ?? name, .integers(integers), "bigint")
    }

    /// Inserts all columns of a batch. Some columns have another name in the database.
    private func insert(
        _ batch: FactBatch, into table: String, _ names: [String: String] = [:],
        adding constants: [(name: String, value: Argument)] = []
    ) throws {
        let columns = batch.table.columns.map { column($0.name, batch, as: names[$0.name]) }
        try insert(columns, into: table, adding: constants)
    }

    private var statements: [String: Statement] = [:]

    private func insert(
        _ columns: [Column], into table: String, adding constants: [(name: String, value: Argument)] = []
    ) throws {
        let statement =
            statements[table]
            ?? {
                let names = (columns.map(\.name) + constants.map(\.name)).map { "\"\($0)\"" }.joined(separator: ", ")
                let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type)[]" }.joined(separator: ", ")
                let values = constants.enumerated().map { index, constant in
                    ", $\(columns.count + index + 1)::\(constant.name == "number" ? "bigint" : "text")"
                }.joined()
                let new = Statement(
                    "INSERT INTO halyard.\(table) (\(names)) OVERRIDING SYSTEM VALUE SELECT row.*\(values) FROM unnest(\(arrays)) AS row"
                )
                statements[table] = new
                return new
            }()
        try connection.run(statement, columns.map(\.values) + constants.map(\.value))
    }
}
