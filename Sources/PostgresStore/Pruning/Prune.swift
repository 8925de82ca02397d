import Jobs
import PostgreSQL
import StoreParts

/// The unit of pruning: a job outside of graphs, or a whole graph, whose jobs have consecutive numbers.
struct PruneUnit: Sendable {
    var graph: GraphID?
    var first: JobID
    var jobs: Int64

    var last: JobID { JobID(first.rawValue + jobs - 1) }
}

extension Reader {
    /// The units that one walk over the jobs of a range found.
    struct Prunable: Sendable {
        var units: [PruneUnit] = []
        /// The number of jobs with a wanted outcome that stay because their graph has another outcome.
        var keptByGraph = 0
        /// The lowest job that the walk saw.
        var lowest: JobID
        /// Whether the walk has seen all jobs of the range.
        var isAtEnd = false
    }

    private static let unitsPerWalk = 5000
    private static let rowsPerRead = 500

    /// Returns the newest units of a range that are final and wanted. The writer checks whether other jobs depend on them.
    ///
    /// A job depends only on older jobs and on jobs of its own graph. The walk goes from newer to older jobs, so it finds
    /// dependents before their dependencies.
    func prunable(
        _ request: PruneRequest, in range: HistoryRange, below: JobID?, limit: Int
    ) throws(PostgresError) -> Prunable {
        var position = min(below?.rawValue ?? .max, range.below.rawValue)
        var found = Prunable(lowest: JobID(position))
        var units = 0
        var jobs = 0
        while units < Self.unitsPerWalk, jobs < limit {
            let rows = try run(
                Statements.walk, .integer(position), .time(request.finishedBefore), .integer(request.mask),
                .integer(Self.rowsPerRead), .job(range.first))
            if rows.count == 0 {
                found.isAtEnd = true
                return found
            }
            for index in 0..<rows.count where units < Self.unitsPerWalk && jobs < limit {
                let row = rows[index]
                // A row of a graph that was seen already.
                if row.integer(0) >= position { continue }
                units += 1
                position = row.integer(0)
                guard let graph = row.graph(1) else {
                    if row.boolean(2) {
                        found.units.append(PruneUnit(graph: nil, first: row.job(0), jobs: 1))
                        jobs += 1
                    }
                    continue
                }
                position = row.integer(3)
                let unit = PruneUnit(graph: graph, first: row.job(3), jobs: row.integer(4))
                if try isWanted(unit, request, &found) {
                    found.units.append(unit)
                    jobs += min(Int(unit.jobs), limit)
                }
            }
            found.lowest = JobID(position)
        }
        found.isAtEnd = position <= range.first.rawValue
        return found
    }

    private func isWanted(
        _ unit: PruneUnit, _ request: PruneRequest, _ found: inout Prunable
    ) throws(PostgresError) -> Bool {
        guard let graph = unit.graph, let record = try self.graph(graph), let finishedAt = record.finishedAt,
            finishedAt < request.finishedBefore
        else { return false }
        let counts = record.counts
        let worst = [Outcome.failed, .cancelled, .skipped].first { counts[$0.state] > 0 }
        let outcome = worst ?? .succeeded
        if request.outcomes.contains(outcome) { return true }
        for outcome in request.outcomes { found.keptByGraph += Int(counts[outcome.state]) }
        return false
    }

    private enum Statements {
        static let walk = Statement(
            """
            SELECT    job.id, job.graph,
                      coalesce(done.finished_ms < $2::bigint AND ($3::bigint >> done.outcome::integer) & 1 = 1, false),
                      graph.first_job, graph.jobs
            FROM      (SELECT   id, graph
                       FROM     halyard.job
                       WHERE    id >= $5::bigint
                       AND      id < $1::bigint
                       ORDER BY id DESC
                       LIMIT    $4::bigint) AS job
            LEFT JOIN halyard.done ON done.job = job.id AND done.job >= $5::bigint AND done.job < $1::bigint
            LEFT JOIN halyard.graph ON graph.id = job.graph
            ORDER BY  job.id DESC
            """)
    }
}

extension PruneRequest {
    /// One bit for each outcome to delete.
    var mask: Int64 { outcomes.reduce(0) { $0 | 1 << Int64($1.rawValue) } }
}

extension Writer {
    /// Deletes units that a reader found to be final, row by row, in the reader's order. A final state never changes,
    /// so this checks only for dependents.
    ///
    /// - Returns: How many jobs were deleted, and how many stay because other jobs depend on them.
    func prune(_ units: [PruneUnit]) throws(PostgresError) -> (deleted: Int, kept: Int) {
        var jobs: [JobID] = []
        var pruned: [PruneUnit] = []
        var kept = 0
        // In ascending order, as all transactions lock jobs. The units are deleted in the reader's order, which puts
        // dependents first.
        let ascending = units.sorted { $0.first < $1.first }
        try run(Statements.lockAll, .jobs(ascending.map(\.first)), .jobs(ascending.map(\.last)))
        for unit in units {
            // A transaction that adds a dependent holds locks on these rows until it has committed.
            let rows = try run(Statements.lock, .job(unit.first), .job(unit.last))
            // Another prune has already deleted the jobs.
            if rows.count == 0 { continue }
            let oldest = Argument.integer(unit.first.rawValue - Int64(Submission.maxJobs))
            if try run(Statements.dependents, .job(unit.first), .job(unit.last), oldest, oldest).count > 0 {
                kept += rows.count
                continue
            }
            var hasDependencies = false
            try rows.forEach { (row) throws(PostgresError) in
                count(
                    queue: try lane(row.integer(1)).queue, graph: nil, from: row.state(0), to: nil,
                    now: time.steady.moment)
                jobs.append(row.job(2))
                hasDependencies = hasDependencies || row.integer(3) > 0
            }
            // Deletes the edges at once, since they lead to later units, whose check for dependents must not find them.
            if hasDependencies { try run(Statements.deleteEdges, .job(unit.first), .job(unit.last)) }
            pruned.append(unit)
        }
        if pruned.isEmpty { return (0, kept) }
        let (low, high) = Argument.bounds(jobs)
        for statement in Statements.delete { try run(statement, .jobs(jobs), low, high) }
        try delete(pruned.compactMap(\.graph))
        for unit in pruned { try run(Statements.deleteKeys, .job(unit.first), .job(unit.last)) }
        try run(Statements.notePruned, .jobs(pruned.map(\.first)), .jobs(pruned.map(\.last)), low, high)
        return (jobs.count, kept)
    }

    /// Deletes graphs whose jobs are gone, with their counts.
    func delete(_ graphs: [GraphID]) throws(PostgresError) {
        if graphs.isEmpty { return }
        for statement in Statements.deleteGraphs { try run(statement, .integers(graphs.map(\.rawValue))) }
    }

    private enum Statements {
        static let lock = Statement(
            """
            SELECT   done.outcome, job.lane, job.id, job.dependencies
            FROM     halyard.done
            JOIN     halyard.job ON job.id = done.job AND job.id BETWEEN $1::bigint AND $2::bigint
            WHERE    done.job BETWEEN $1::bigint AND $2::bigint
            ORDER BY done.job
            FOR UPDATE OF done
            """)
        static let lockAll = Statement(
            """
            SELECT   1
            FROM     unnest($1::bigint[], $2::bigint[]) AS unit (first, last)
            JOIN     halyard.done ON done.job BETWEEN unit.first AND unit.last
            ORDER BY done.job
            FOR UPDATE OF done
            """)
        /// The disjunction selects partitions, as in the search for edges to jobs that end.
        static let dependents = Statement(
            """
            SELECT 1
            FROM   halyard.dependency
            WHERE  dependency BETWEEN $1::bigint AND $2::bigint
            AND    dependent NOT BETWEEN $1::bigint AND $2::bigint
            AND    (dependent >= $3::bigint OR dependent >= $4::bigint)
            LIMIT  1
            """)
        static let deleteEdges = Statement(
            "DELETE FROM halyard.dependency WHERE dependent BETWEEN $1::bigint AND $2::bigint")
        static let delete: [Statement] = [
            delete("attempt", "job"), delete("kept", "job"), delete("done", "job"), delete("job", "id"),
        ]
        static let deleteGraphs: [Statement] = [
            Statement("DELETE FROM halyard.graph WHERE id = ANY ($1::bigint[])"),
            Statement("DELETE FROM halyard.tally_change WHERE subject = ANY ($1::bigint[]) AND subject > 0"),
            Statement("DELETE FROM halyard.tally_fold WHERE subject = ANY ($1::bigint[])"),
        ]
        /// Deletes the keys under which the jobs were enqueued, if no job of the key is left.
        static let deleteKeys = Statement(
            """
            DELETE FROM halyard.idempotency
            WHERE  first_job >= coalesce((SELECT   first_job
                                          FROM     halyard.idempotency
                                          WHERE    first_job <= $1::bigint
                                          ORDER BY first_job DESC
                                          LIMIT    1), $1::bigint)
            AND    first_job <= $2::bigint
            AND    first_job + jobs > $1::bigint
            AND    NOT EXISTS (SELECT 1 FROM halyard.job
                               WHERE id >= first_job AND id < first_job + idempotency.jobs)
            """)
        /// Counts the deleted jobs of each range (N4).
        static let notePruned = Statement(
            """
            UPDATE halyard.range
            SET    pruned = pruned + (SELECT sum(greatest(0, least(unit.last + 1, below) - greatest(unit.first, first)))
                                      FROM   unnest($1::bigint[], $2::bigint[]) AS unit (first, last))
            WHERE  range.first <= $4::bigint
            AND    range.below > $3::bigint
            """)

        private static func delete(_ table: String, _ column: String) -> Statement {
            Statement(
                """
                DELETE FROM halyard.\(table)
                WHERE  \(column) = ANY ($1::bigint[])
                AND    \(column) BETWEEN $2::bigint AND $3::bigint
                """)
        }
    }
}
