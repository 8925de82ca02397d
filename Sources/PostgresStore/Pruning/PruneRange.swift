import Jobs
import PostgreSQL
import StoreParts

/// Pruning of whole ranges, which drops their partitions.
extension Writer {
    /// The answer to an attempt to drop a range.
    enum RangeDrop: String, Sendable {
        case dropped
        /// Another transaction uses the tables. A later attempt may succeed.
        case busy
        /// Jobs were deleted one by one since they were counted, or the range was dropped by another daemon.
        case changed
        /// A later job depends on one of the range.
        case needed
    }

    /// Makes sure that no transaction adds jobs to a range whose numbers are all taken (N3).
    ///
    /// - Returns: False if a transaction that adds jobs stays open.
    func close(_ range: HistoryRange) throws(PostgresError) -> Bool {
        try run(Statements.close, .job(range.first)).first?.boolean(0) ?? false
    }

    /// Drops a closed range with its results, attempts and edges. Other transactions delete its keys and graphs later
    /// (``clearDroppedRange()``), since all writers wait for this one.
    func drop(_ range: HistoryRange, _ contents: RangeContents) throws(PostgresError) -> RangeDrop {
        let answer = try run(
            Statements.drop, .job(range.first), .integer(contents.pruned), .integer(contents.graphs?.lowerBound),
            .integer(contents.graphs?.upperBound)
        ).first?.string(0)
        guard let drop = answer.flatMap(RangeDrop.init) else {
            throw PostgresError(.unexpected, message: "a range was neither dropped nor kept")
        }
        guard drop == .dropped else { return drop }
        for (number, state, jobs) in contents.counts {
            count(
                queue: try lane(number).queue, graph: nil, from: state, to: nil, now: time.steady.moment, jobs: jobs)
        }
        return drop
    }

    private static let rowsPerStep: Int64 = 5000

    /// Deletes some rows of a dropped range from the tables that have no ranges (N5).
    ///
    /// - Returns: Whether there was anything to do.
    func clearDroppedRange() throws(PostgresError) -> Bool {
        guard let row = try run(Statements.dropped).first else { return false }
        let (first, below) = (Argument.integer(row.integer(0)), Argument.integer(row.integer(1)))
        if let from = row.optionalInteger(2), let to = row.optionalInteger(3) {
            let graphs = try run(
                Statements.graphs, .integer(from), .integer(to), first, below, .integer(Self.rowsPerStep)
            ).map { GraphID($0.integer(0)) }
            try delete(graphs)
            let next = graphs.count < Self.rowsPerStep ? nil : graphs.last.map { $0.rawValue + 1 }
            try run(Statements.passGraphs, first, .integer(next))
            return true
        }
        let cleared = row.optionalInteger(4).map { Argument.integer($0) } ?? .null
        let keys = try run(Statements.keys, first, below, cleared, .integer(Self.rowsPerStep)).map { $0.integer(0) }
        if let last = keys.last {
            try run(Statements.deleteKeys, .integers(keys))
            try run(Statements.passKeys, first, .integer(last + 1))
        } else {
            try run(Statements.deleteKept, first, below)
            try run(Statements.forget, first)
        }
        return true
    }

    private enum Statements {
        static let close = Statement("SELECT halyard.close_range($1::bigint)")
        static let drop = Statement("SELECT halyard.drop_range($1::bigint, $2::bigint, $3::bigint, $4::bigint)")
        /// Skips a range that another daemon is clearing.
        static let dropped = Statement(
            """
            SELECT   first, below, first_graph, last_graph, first_key
            FROM     halyard.range
            WHERE    is_dropped
            ORDER BY first
            LIMIT    1
            FOR UPDATE SKIP LOCKED
            """)
        static let graphs = Statement(
            """
            SELECT   id
            FROM     halyard.graph
            WHERE    id BETWEEN $1::bigint AND $2::bigint
            AND      first_job >= $3::bigint
            AND      first_job < $4::bigint
            ORDER BY id
            LIMIT    $5::bigint
            """)
        static let passGraphs = Statement(
            "UPDATE halyard.range SET first_graph = $2::bigint WHERE first = $1::bigint")
        /// A key whose first job is before the range may also have jobs in the range.
        static let keys = Statement(
            """
            SELECT   first_job
            FROM     halyard.idempotency
            WHERE    first_job >= coalesce($3::bigint, (SELECT   first_job
                                                        FROM     halyard.idempotency
                                                        WHERE    first_job < $1::bigint
                                                        ORDER BY first_job DESC
                                                        LIMIT    1), $1::bigint)
            AND      first_job < $2::bigint
            ORDER BY first_job
            LIMIT    $4::bigint
            """)
        /// Keeps a key that still has jobs in another range.
        static let deleteKeys = Statement(
            """
            DELETE FROM halyard.idempotency
            WHERE  first_job = ANY ($1::bigint[])
            AND    NOT EXISTS (SELECT 1
                               FROM   halyard.job
                               WHERE  id >= first_job
                               AND    id < first_job + idempotency.jobs)
            """)
        static let passKeys = Statement("UPDATE halyard.range SET first_key = $2::bigint WHERE first = $1::bigint")
        static let deleteKept = Statement("DELETE FROM halyard.kept WHERE job >= $1::bigint AND job < $2::bigint")
        static let forget = Statement("DELETE FROM halyard.range WHERE first = $1::bigint")
    }
}
