import Jobs
import PostgreSQL
import StoreParts

/// The columns that an open job keeps through its states.
struct OpenRow {
    var job: JobID
    var lane: Int64
    var graph: GraphID?
    var attempt: Int
    var tries: Int
    var rescues: Int
    var dueAt: Timestamp?
    var steadyAt: Timestamp?
    var startedAt: Timestamp?
}

extension OpenRow {
    /// Reads nine columns in the order of the fields.
    init(_ row: Row, from first: Int = 0) {
        self.init(
            job: row.job(first), lane: row.integer(first + 1), graph: row.graph(first + 2),
            attempt: row.int(first + 3), tries: row.int(first + 4), rescues: row.int(first + 5),
            dueAt: row.optionalTimestamp(first + 6), steadyAt: row.optionalTimestamp(first + 7),
            startedAt: row.optionalTimestamp(first + 8))
    }

    /// The names of the columns, in the order of the fields.
    static let columns = "job, lane, graph, attempt, tries, rescues, due_ms, steady_ms, started_ms"
    /// The parameters for ``arguments(_:)``.
    static let parameters = (1...9).map { "$\($0)::bigint[]" }.joined(separator: ", ")

    static func arguments(_ rows: [OpenRow]) -> [Argument] {
        [
            .jobs(rows.map(\.job)), .integers(rows.map(\.lane)), .optionalGraphs(rows.map(\.graph)),
            .integers(rows.map { Int64($0.attempt) }), .integers(rows.map { Int64($0.tries) }),
            .integers(rows.map { Int64($0.rescues) }), .times(rows.map(\.dueAt)), .times(rows.map(\.steadyAt)),
            .times(rows.map(\.startedAt)),
        ]
    }
}

/// A job that never starts because of a dependency.
struct SkippedJob {
    var row: OpenRow
    var pending: Int
    /// The dependency, and its outcome.
    var because: JobID
    var outcome: Outcome
}

/// The rows of new jobs, table by table.
struct NewRows {
    var graphs: [(id: GraphID, name: String?, first: Int64, jobs: Int)] = []
    var jobs: [(id: JobID, lane: Int64, graph: GraphID?, job: NewJob)] = []
    var edges: [(dependent: JobID, position: Int, dependency: JobID, condition: DependencyCondition)] = []
    var blocked: [(row: OpenRow, pending: Int)] = []
    var scheduled: [OpenRow] = []
    var ready: [OpenRow] = []
    var skipped: [SkippedJob] = []
}

extension Writer {
    func write(_ rows: NewRows, now: Timestamp) throws(PostgresError) {
        if !rows.graphs.isEmpty {
            try putOff(
                Statements.graphs, .integers(rows.graphs.map(\.id.rawValue)), .texts(rows.graphs.map(\.name)),
                .time(now),
                .integers(rows.graphs.map(\.first)), .integers(rows.graphs.map { Int64($0.jobs) }))
        }
        try putOff(
            Statements.jobs, .jobs(rows.jobs.map(\.id)), .integers(rows.jobs.map(\.lane)),
            .integers(rows.jobs.map(\.job.definition.rawValue)), .optionalGraphs(rows.jobs.map(\.graph)),
            .texts(rows.jobs.map(\.job.node)), .integers(rows.jobs.map { $0.job.repeats?.rawValue }),
            .integers(rows.jobs.map { Int64($0.job.dependencies.count) }), .time(now),
            .jsons(rows.jobs.map(\.job.input)))
        if !rows.edges.isEmpty {
            try putOff(
                Statements.edges, .jobs(rows.edges.map(\.dependent)), .integers(rows.edges.map { Int64($0.position) }),
                .jobs(rows.edges.map(\.dependency)), .integers(rows.edges.map { Int64($0.condition.rawValue) }))
        }
        if !rows.blocked.isEmpty {
            let pending = Argument.integers(rows.blocked.map { Int64($0.pending) })
            try connection.putOff(
                Statements.blocked[half(.blocked)], OpenRow.arguments(rows.blocked.map(\.row)) + [pending])
        }
        try schedule(rows.scheduled)
        try makeReady(rows.ready)
        try recordSkips(rows.skipped, now: now)
    }

    func schedule(_ rows: [OpenRow]) throws(PostgresError) {
        if rows.isEmpty { return }
        try connection.putOff(Statements.scheduled[half(.scheduled)], OpenRow.arguments(rows))
    }

    /// Inserts ready jobs. Those that return to an earlier place do not follow the order of transactions (S2).
    func makeReady(_ rows: [OpenRow]) throws(PostgresError) {
        if rows.isEmpty { return }
        let returned = try rows.map { (row) throws(PostgresError) in
            try lane(row.lane).laneClass.returnsToPlaces ? Int64(0) : nil
        }
        try connection.putOff(Statements.ready[half(.ready)], OpenRow.arguments(rows) + [.integers(returned)])
    }

    private enum Statements {
        static let graphs = Statement(
            """
            INSERT INTO halyard.graph (id, name, enqueued_ms, first_job, jobs)
            SELECT id, name, $3::bigint, first_job, jobs
            FROM   unnest($1::bigint[], $2::text[], $4::bigint[], $5::bigint[]) AS new (id, name, first_job, jobs)
            """)
        static let jobs = Statement(
            """
            INSERT INTO halyard.job (id, lane, definition, graph, node, repeats, dependencies, enqueued_ms, input)
            SELECT id, lane, definition, graph, node, repeats, dependencies, $8::bigint, input
            FROM   unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
                          $7::bigint[], $9::text[])
                   AS new (id, lane, definition, graph, node, repeats, dependencies, input)
            """)
        static let edges = Statement(
            """
            INSERT INTO halyard.dependency (dependent, position, dependency, condition)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
            """)
        static let blocked = HotTable.blocked.halves { name, half in
            Statement(
                """
                INSERT INTO halyard.\(name) (\(OpenRow.columns), pending, half)
                SELECT *, \(half) FROM unnest(\(OpenRow.parameters), $10::bigint[])
                """)
        }
        static let scheduled = HotTable.scheduled.halves { name, half in
            Statement(
                """
                INSERT INTO halyard.\(name) (\(OpenRow.columns), half)
                SELECT *, \(half) FROM unnest(\(OpenRow.parameters))
                """)
        }
        static let ready = HotTable.ready.halves { name, half in
            Statement(
                """
                INSERT INTO halyard.\(name) (\(OpenRow.columns), txid, half)
                SELECT \(OpenRow.columns), coalesce(txid, pg_current_xact_id()::text::bigint), \(half)
                FROM   unnest(\(OpenRow.parameters), $10::bigint[]) AS new (\(OpenRow.columns), txid)
                """)
        }
    }
}
