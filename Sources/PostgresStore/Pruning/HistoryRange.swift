import Jobs
import PostgreSQL

/// Jobs with consecutive numbers, for which each table of history has a partition.
struct HistoryRange: Sendable {
    var first: JobID
    /// The number after the last one.
    var below: JobID
    /// Whether all its numbers are taken.
    var isFull: Bool
    /// Whether no transaction can add jobs to it any more (N3).
    var isClosed: Bool
    /// Whether this is the range with the lowest numbers.
    var isOldest: Bool
}

/// The contents of a range whose jobs can be pruned together.
struct RangeContents: Sendable {
    /// The value of `range.pruned` when the jobs were counted (N4).
    var pruned: Int64
    /// The numbers of jobs by lane and outcome.
    var counts: [(lane: Int64, state: JobState, jobs: Int64)] = []
    /// All graphs of the range are between these.
    var graphs: ClosedRange<Int64>?

    var jobs: Int { counts.reduce(0) { $0 + Int($1.jobs) } }
}

extension Reader {
    /// Returns the newest range with jobs below this one; nil if there is none.
    func range(below: JobID?) throws(PostgresError) -> HistoryRange? {
        try run(Statements.newest, .integer(below?.rawValue ?? .max)).first.map { row in
            HistoryRange(
                first: row.job(0), below: row.job(1), isFull: row.boolean(2), isClosed: row.boolean(3),
                isOldest: row.boolean(4))
        }
    }

    /// Counts the jobs of a closed range.
    ///
    /// - Returns: Nil if not all jobs can be pruned: a job is open or not wanted, a graph is not wanted or has jobs in
    ///   another range, or a later job depends on a job of the range.
    func contents(of range: HistoryRange, _ request: PruneRequest) throws(PostgresError) -> RangeContents? {
        let (first, below) = (Argument.job(range.first), Argument.job(range.below))
        guard let row = try run(Statements.pruned, first).first else { return nil }
        // The cheap checks come first.
        for statement in [Statements.open, Statements.needed] where try run(statement, first, below).count > 0 {
            return nil
        }
        for job in [range.first, JobID(range.below.rawValue - 1)] {
            if try run(Statements.divided, .job(job), first, below).count > 0 { return nil }
        }
        // Reading both tables in the order of their numbers is fastest, so merge joins are allowed.
        try run(Statements.allowMerges)
        var contents = RangeContents(pruned: row.integer(0))
        var isWanted = true
        let wanted: [Argument] = [.time(request.finishedBefore), .integer(request.mask)]
        try runPatiently(Statements.counts, first, below, wanted[0], wanted[1]).forEach { row in
            contents.counts.append((row.integer(0), row.state(1), row.integer(2)))
            isWanted = isWanted && !row.isNull(1) && row.integer(3) == 0
            if let low = row.optionalInteger(4), let high = row.optionalInteger(5) {
                let seen = contents.graphs ?? low...high
                contents.graphs = min(low, seen.lowerBound)...max(high, seen.upperBound)
            }
        }
        guard isWanted else { return nil }
        if contents.graphs != nil, try run(Statements.unwantedGraph, first, below, wanted[0], wanted[1]).count > 0 {
            return nil
        }
        return contents
    }

    /// Returns the open transactions that have used the tables of history, or the range's partitions. A drop would wait
    /// for them.
    func users(of range: HistoryRange) throws(PostgresError) -> Set<String> {
        Set(try run(Statements.users, .job(range.first)).map { $0.string(0) })
    }

    private enum Statements {
        static let newest = Statement(
            """
            SELECT   first, below, below <= (SELECT last_value FROM halyard.job_number), is_closed,
                     NOT EXISTS (SELECT 1
                                 FROM   halyard.range AS older
                                 WHERE  older.first < range.first
                                 AND    NOT older.is_dropped)
            FROM     halyard.range
            WHERE    first < $1::bigint
            AND      first <= (SELECT last_value FROM halyard.job_number)
            AND      NOT is_dropped
            ORDER BY first DESC
            LIMIT    1
            """)
        static let pruned = Statement(
            "SELECT pruned FROM halyard.range WHERE first = $1::bigint AND is_closed AND NOT is_dropped")
        static let open = Statement(
            ["ready", "running", "scheduled", "blocked"].map { table in
                "(SELECT 1 FROM halyard.\(table) WHERE job >= $1::bigint AND job < $2::bigint LIMIT 1)"
            }.joined(separator: " UNION ALL "))
        static let needed = Statement(
            """
            SELECT 1
            FROM   halyard.dependency
            WHERE  dependency >= $1::bigint
            AND    dependency < $2::bigint
            AND    dependent >= $2::bigint
            LIMIT  1
            """)
        static let divided = Statement(
            """
            SELECT 1
            FROM   halyard.job
            JOIN   halyard.graph ON graph.id = job.graph
            WHERE  job.id = $1::bigint
            AND    (graph.first_job < $2::bigint OR graph.first_job + graph.jobs > $3::bigint)
            """)
        static let allowMerges = Statement("SELECT set_config('enable_mergejoin', 'on', true)")
        /// The rows with an outcome of NULL count open jobs.
        static let counts = Statement(
            """
            SELECT    job.lane, done.outcome, count(*),
                      count(*) FILTER (WHERE job.graph IS NULL
                                       AND NOT (done.finished_ms < $3::bigint
                                                AND ($4::bigint >> done.outcome::integer) & 1 = 1)),
                      min(job.graph), max(job.graph)
            FROM      halyard.job
            LEFT JOIN halyard.done ON done.job = job.id AND done.job >= $1::bigint AND done.job < $2::bigint
            WHERE     job.id >= $1::bigint
            AND       job.id < $2::bigint
            GROUP BY  job.lane, done.outcome
            """)
        /// The outcome of a graph is the worst of its jobs' outcomes.
        static let unwantedGraph = Statement(
            """
            SELECT 1
            FROM   (SELECT   max(done.finished_ms) AS at_ms,
                             CASE WHEN bool_or(done.outcome = \(Outcome.failed.rawValue)) THEN \(Outcome.failed.rawValue)
                                  WHEN bool_or(done.outcome = \(Outcome.cancelled.rawValue))
                                  THEN \(Outcome.cancelled.rawValue)
                                  WHEN bool_or(done.outcome = \(Outcome.skipped.rawValue)) THEN \(Outcome.skipped.rawValue)
                                  ELSE \(Outcome.succeeded.rawValue) END AS outcome
                    FROM     halyard.job
                    JOIN     halyard.done ON done.job = job.id AND done.job >= $1::bigint AND done.job < $2::bigint
                    WHERE    job.id >= $1::bigint
                    AND      job.id < $2::bigint
                    AND      job.graph IS NOT NULL
                    GROUP BY job.graph) AS graph
            WHERE  NOT (at_ms < $3::bigint AND ($4::bigint >> outcome) & 1 = 1)
            LIMIT  1
            """)
        static let users = Statement(
            """
            SELECT DISTINCT virtualtransaction
            FROM   pg_locks
            WHERE  relation = ANY (ARRAY(
                       SELECT to_regclass('halyard.' || name)
                       FROM   unnest('{\(Migration.historyTables.joined(separator: ","))}'::text[]) AS history (name)
                       UNION ALL
                       SELECT to_regclass('halyard.' || name || '_from_' || $1::bigint)
                       FROM   unnest('{\(Migration.historyTables.joined(separator: ","))}'::text[]) AS history (name)))
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND    granted
            AND    pid <> pg_backend_pid()
            """)
    }
}
