import Jobs
import SQLite
import StoreParts

extension Reader {
    func graph(_ id: GraphID) throws(SQLiteError) -> GraphRecord? {
        try graphs.graph.first([.graph <- id]) { GraphRecord($0) }
    }

    func graphs(limit: Int, before: GraphID?) throws(SQLiteError) -> [GraphRecord] {
        try graphs.newest.all([.below <- before ?? GraphID(.max), .limit <- limit]) { GraphRecord($0) }
    }

    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) throws(SQLiteError) -> EdgePage {
        let edges = graphs.edges
        var page = EdgePage(edges: [], next: nil)
        try edges.bind([
            .graph <- graph, .dependent <- after?.dependent ?? JobID(0), .position <- after?.position ?? -1,
        ])
        for _ in 0..<max(1, min(limit, EdgePage.maxEdges)) {
            guard try edges.step() else { return page }
            page.edges.append(
                DependencyRecord(dependent: edges.job(0), dependency: edges.job(1), condition: edges.condition(2)))
            page.next = EdgePosition(dependent: edges.job(0), position: Int(edges.integer(3)))
        }
        edges.reset()
        return page
    }
}

extension GraphRecord {
    fileprivate init(_ row: Statement) {
        self.init(
            id: GraphID(row.integer(0)), name: row.optionalString(1), enqueuedAt: row.timestamp(2),
            finishedAt: row.optionalTimestamp(3), counts: row.tally(from: 4).counts)
    }
}

struct GraphStatements: StatementGroup {
    private static let select: SQL = """
        SELECT id, name, enqueued_ms, finished_ms,
               blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
        FROM   graph
        """
    let graph = Statement("\(select) WHERE id = :graph")
    let newest = Statement("\(select) WHERE id < :below ORDER BY id DESC LIMIT :limit")
    let edges = Statement(
        """
        SELECT     dependency.dependent_id, dependency.dependency_id, dependency.condition, dependency.position
        FROM       job INDEXED BY job_graph
        CROSS JOIN dependency ON dependency.dependent_id = job.id
        WHERE      job.graph_id = :graph
        AND        job.id >= :dependent
        AND        (job.id > :dependent OR dependency.position > :position)
        ORDER BY   job.id, dependency.position
        """)
}
