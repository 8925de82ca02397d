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
    /// The units that one walk over the jobs found.
    struct Prunable: Sendable {
        var units: [PruneUnit] = []
        /// The number of jobs with a wanted outcome that stay because their graph has another outcome.
        var keptByGraph = 0
        /// The lowest job that the walk saw, below which the next walk continues; nil if no jobs are left.
        var next: JobID?
    }

    private static let unitsPerWalk = 5000
    private static let rowsPerRead = 500

    /// Returns the newest units that are final and wanted. The writer checks whether other jobs depend on them.
    ///
    /// A job depends only on older jobs and on jobs of its own graph. The walk goes from newer to older jobs, so it finds
    /// dependents before their dependencies.
    func prunable(_ request: PruneRequest, below: JobID?, limit: Int) throws(PostgresError) -> Prunable {
        var found = Prunable()
        var units = 0
        var jobs = 0
        var position = below?.rawValue ?? .max
        while units < Self.unitsPerWalk, jobs < limit {
            let rows = try run(
                Statements.walk, .integer(position), .time(request.finishedBefore),
                .integer(request.outcomes.reduce(0) { $0 | 1 << $1.rawValue }), .integer(Self.rowsPerRead))
            if rows.count == 0 {
                found.next = nil
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
            found.next = JobID(position)
        }
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
            FROM      (SELECT id, graph FROM halyard.job WHERE id < $1::bigint ORDER BY id DESC LIMIT $4::bigint) AS job
            LEFT JOIN halyard.done ON done.job = job.id
            LEFT JOIN halyard.graph ON graph.id = job.graph
            ORDER BY  job.id DESC
            """)
    }
}

extension Writer {
    /// Deletes units that a reader found to be final, in the reader's order. A final state never changes, so this
    /// checks only for dependents.
    ///
    /// - Returns: How many jobs were deleted, and how many stay because other jobs depend on them.
    func prune(_ units: [PruneUnit]) throws(PostgresError) -> (deleted: Int, kept: Int) {
        var deleted = 0
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
            if try run(Statements.dependents, .job(unit.first), .job(unit.last)).count > 0 {
                kept += rows.count
                continue
            }
            try rows.forEach { (row) throws(PostgresError) in
                count(
                    queue: try lane(row.integer(1)).queue, graph: nil, from: row.state(0), to: nil,
                    now: time.steady.moment)
            }
            for statement in Statements.delete { try run(statement, .job(unit.first), .job(unit.last)) }
            if let graph = unit.graph {
                for statement in Statements.deleteGraph { try run(statement, .graph(graph)) }
            }
            try run(Statements.deleteKeys, .job(unit.first), .job(unit.last))
            deleted += rows.count
        }
        return (deleted, kept)
    }

    private enum Statements {
        static let lock = Statement(
            """
            SELECT   done.outcome, job.lane
            FROM     halyard.done
            JOIN     halyard.job ON job.id = done.job
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
        static let dependents = Statement(
            """
            SELECT 1
            FROM   halyard.dependency
            WHERE  dependency BETWEEN $1::bigint AND $2::bigint
            AND    dependent NOT BETWEEN $1::bigint AND $2::bigint
            LIMIT  1
            """)
        static let delete: [Statement] = [
            delete("dependency", "dependent"), delete("attempt", "job"), delete("kept", "job"), delete("done", "job"),
            delete("job", "id"),
        ]
        static let deleteGraph: [Statement] = [
            Statement("DELETE FROM halyard.graph WHERE id = $1::bigint"),
            Statement("DELETE FROM halyard.tally_change WHERE subject = $1::bigint"),
            Statement("DELETE FROM halyard.tally_fold WHERE subject = $1::bigint"),
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

        private static func delete(_ table: String, _ column: String) -> Statement {
            Statement("DELETE FROM halyard.\(table) WHERE \(column) BETWEEN $1::bigint AND $2::bigint")
        }
    }
}
