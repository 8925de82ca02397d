import Jobs
import SQLite

/// The unit of pruning: a job outside of graphs, or a whole graph.
enum PruneUnit: Sendable {
    case job(JobID)
    case graph(GraphID, jobs: Int)

    var jobs: Int {
        switch self {
        case .job: 1
        case .graph(_, let jobs): jobs
        }
    }
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

    /// The number of units that one walk examines, so that other listings get their turn.
    static let unitsPerWalk = 5000

    /// Returns the newest units that are final and wanted. The writer checks whether other jobs depend on them.
    ///
    /// A job depends only on older jobs and on jobs of its own graph. The walk goes from newer to older jobs, so it
    /// finds dependents before their dependencies. The jobs of a graph have consecutive numbers, so the walk finds each
    /// graph once.
    func prunable(_ request: PruneRequest, below: JobID?, limit: Int) throws(SQLiteError) -> Prunable {
        try snapshot { () throws(SQLiteError) in
            var found = Prunable()
            let outcomes = request.outcomes.reduce(0) { $0 | 1 << $1.rawValue }
            func walk(below job: JobID?) throws(SQLiteError) {
                pruning.units.reset()
                try pruning.units.bind([
                    .below <- job ?? JobID(.max), .before <- request.finishedBefore, .outcomes <- outcomes,
                ])
            }
            try walk(below: below)
            var jobs = 0
            for _ in 0..<Self.unitsPerWalk {
                guard try pruning.units.step() else {
                    found.next = nil
                    return found
                }
                let id = pruning.units.job(0)
                found.next = id
                if let id = pruning.units.graph(1) {
                    let graph = try pruning.graph.first([
                        .graph <- id, .before <- request.finishedBefore, .outcomes <- outcomes,
                    ]) {
                        (
                            first: $0.job(0), isWanted: $0.integer(1) != 0, jobs: Int($0.integer(2)),
                            wantedJobs: Int($0.integer(3))
                        )
                    }
                    if let graph {
                        found.next = graph.first
                        if graph.isWanted {
                            found.units.append(.graph(id, jobs: graph.jobs))
                            jobs += min(graph.jobs, limit)
                        } else {
                            found.keptByGraph &+= graph.wantedJobs
                        }
                    }
                    try walk(below: found.next)
                } else if pruning.units.integer(2) != 0 {
                    found.units.append(.job(id))
                    jobs += 1
                }
                if jobs >= limit { break }
            }
            pruning.units.reset()
            return found
        }
    }
}

struct PrunableStatements: StatementGroup {
    let units = Statement(
        """
        SELECT   id, graph_id, state >= \(JobState.firstFinal) AND finished_ms < :before AND (:outcomes >> state) & 1
        FROM     job NOT INDEXED
        WHERE    id < :below
        ORDER BY id DESC
        """)
    /// The outcome of a graph is computed as in the view `graphs`.
    let graph = Statement(
        """
        SELECT (SELECT min(id) FROM job INDEXED BY job_graph WHERE graph_id = graph.id),
               finished_ms < :before
               AND (:outcomes >> CASE
                       WHEN failed > 0 THEN \(Outcome.failed)
                       WHEN cancelled > 0 THEN \(Outcome.cancelled)
                       WHEN skipped > 0 THEN \(Outcome.skipped)
                       ELSE \(Outcome.succeeded)
                   END) & 1,
               succeeded + failed + cancelled + skipped,
               CASE WHEN finished_ms < :before
                   THEN succeeded * (:outcomes >> \(Outcome.succeeded) & 1) + failed * (:outcomes >> \(Outcome.failed) & 1)
                        + cancelled * (:outcomes >> \(Outcome.cancelled) & 1)
                        + skipped * (:outcomes >> \(Outcome.skipped) & 1)
                   ELSE 0
               END
        FROM   graph
        WHERE  id = :graph
        """)
}
