import Jobs
import SQLite

extension Reader {
    func graph(_ id: GraphID) throws(SQLiteError) -> GraphRecord? {
        graphs.graph.bind(1, id.rawValue)
        guard try graphs.graph.step() else { return nil }
        defer { graphs.graph.reset() }
        return graphs.graph.graphRecord()
    }

    func graphs(limit: Int, before: GraphID?) throws(SQLiteError) -> [GraphRecord] {
        var found: [GraphRecord] = []
        graphs.newest.bind(1, before?.rawValue ?? .max)
        graphs.newest.bind(2, limit)
        while try graphs.newest.step() { found.append(graphs.newest.graphRecord()) }
        return found
    }

    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) throws(SQLiteError) -> EdgePage {
        var page = EdgePage(edges: [], next: nil)
        graphs.edges.bind(1, graph.rawValue)
        graphs.edges.bind(2, after?.dependent.rawValue ?? 0)
        graphs.edges.bind(3, after?.position ?? -1)
        for _ in 0..<max(1, min(limit, EdgePage.maxEdges)) {
            guard try graphs.edges.step() else { return page }
            let dependent = JobID(graphs.edges.integer(0))
            page.edges.append(
                DependencyRecord(
                    dependent: dependent, dependency: JobID(graphs.edges.integer(1)),
                    condition: graphs.edges.condition(2)))
            page.next = EdgePosition(dependent: dependent, position: Int(graphs.edges.integer(3)))
        }
        graphs.edges.reset()
        return page
    }
}

extension Statement {
    fileprivate func graphRecord() -> GraphRecord {
        GraphRecord(
            id: GraphID(integer(0)), name: optionalString(1), enqueuedAt: Timestamp(milliseconds: integer(2)),
            finishedAt: timestamp(3), counts: tally(from: 4).counts)
    }
}

struct GraphStatements: ~Copyable {
    static let graphSQL: SQL = """
        SELECT id, name, enqueued_ms, finished_ms,
               blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM   graph
        WHERE  id = :graph
        """
    static let newestSQL: SQL = """
        SELECT   id, name, enqueued_ms, finished_ms,
                 blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM     graph
        WHERE    id < :before
        ORDER BY id DESC
        LIMIT    :limit
        """
    static let edgesSQL: SQL = """
        SELECT     dependency.dependent_id, dependency.dependency_id, dependency.condition, dependency.position
        FROM       job INDEXED BY job_graph
        CROSS JOIN dependency ON dependency.dependent_id = job.id
        WHERE      job.graph_id = ?1
        AND        job.id >= ?2
        AND        (job.id > ?2 OR dependency.position > ?3)
        ORDER BY   job.id, dependency.position
        """

    let graph: Statement
    let newest: Statement
    let edges: Statement

    init(_ connection: Connection) {
        graph = connection.prepare(Self.graphSQL)
        newest = connection.prepare(Self.newestSQL)
        edges = connection.prepare(Self.edgesSQL)
    }
}
