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
            pruning.units.bind(1, below?.rawValue ?? .max)
            pruning.units.bind(2, request.finishedBefore.milliseconds)
            pruning.units.bind(3, outcomes)
            pruning.graph.bind(2, request.finishedBefore.milliseconds)
            pruning.graph.bind(3, outcomes)
            var jobs = 0
            for _ in 0..<Self.unitsPerWalk {
                guard try pruning.units.step() else {
                    found.next = nil
                    return found
                }
                let id = pruning.units.integer(0)
                found.next = JobID(id)
                if let graph = pruning.units.optionalInteger(1) {
                    pruning.units.reset()
                    pruning.graph.bind(1, graph)
                    if try pruning.graph.step() {
                        found.next = JobID(pruning.graph.integer(0))
                        if pruning.graph.integer(1) != 0 {
                            let count = Int(pruning.graph.integer(2))
                            found.units.append(.graph(GraphID(graph), jobs: count))
                            jobs += min(count, limit)
                        } else {
                            found.keptByGraph &+= Int(pruning.graph.integer(3))
                        }
                        pruning.graph.reset()
                    }
                    pruning.units.bind(1, found.next?.rawValue)
                } else if pruning.units.integer(2) != 0 {
                    found.units.append(.job(JobID(id)))
                    jobs += 1
                }
                if jobs >= limit { break }
            }
            pruning.units.reset()
            return found
        }
    }
}

struct PrunableStatements: ~Copyable {
    static let unitsSQL: SQL = """
        SELECT   id, graph_id, state >= 4 AND finished_ms < ?2 AND (?3 >> state) & 1
        FROM     job NOT INDEXED
        WHERE    id < ?1
        ORDER BY id DESC
        """
    /// The outcome of a graph is computed as in the view `graphs`.
    static let graphSQL: SQL = """
        SELECT (SELECT min(id) FROM job INDEXED BY job_graph WHERE graph_id = graph.id),
               finished_ms < ?2
               AND (?3 >> CASE WHEN failed > 0 THEN 5 WHEN cancelled > 0 THEN 6 WHEN skipped > 0 THEN 7 ELSE 4 END) & 1,
               succeeded + failed + cancelled + skipped,
               CASE WHEN finished_ms < ?2
                   THEN succeeded * (?3 >> 4 & 1) + failed * (?3 >> 5 & 1) + cancelled * (?3 >> 6 & 1)
                        + skipped * (?3 >> 7 & 1)
                   ELSE 0
               END
        FROM   graph
        WHERE  id = ?1
        """

    let units: Statement
    let graph: Statement

    init(_ connection: Connection) {
        units = connection.prepare(Self.unitsSQL)
        graph = connection.prepare(Self.graphSQL)
    }
}
