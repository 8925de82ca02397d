import Jobs
import PostgreSQL

extension Reader {
    func graph(_ id: GraphID) throws(PostgresError) -> GraphRecord? {
        try run(Statements.graph, .graph(id)).first.map { GraphRecord($0) }
    }

    func graphs(limit: Int, before: GraphID?) throws(PostgresError) -> [GraphRecord] {
        try run(Statements.newest, .integer(before?.rawValue ?? .max), .integer(limit)).map { GraphRecord($0) }
    }

    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) throws(PostgresError) -> EdgePage {
        let limit = max(1, min(limit, EdgePage.maxEdges))
        var page = EdgePage(edges: [], next: nil)
        let rows = try run(
            Statements.edges, .graph(graph), .job(after?.dependent ?? JobID(0)), .integer(after?.position ?? -1),
            .integer(limit))
        rows.forEach { row in
            page.edges.append(
                DependencyRecord(dependent: row.job(0), dependency: row.job(1), condition: row.condition(2)))
            page.next = EdgePosition(dependent: row.job(0), position: row.int(3))
        }
        if rows.count < limit { page.next = nil }
        return page
    }

    private enum Statements {
        private static let select = """
            SELECT     graph.id, graph.name, graph.enqueued_ms, tally.at_ms,
                       blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
            FROM       halyard.graph
            CROSS JOIN LATERAL halyard.tally(graph.id) AS tally
            """
        static let graph = Statement("\(select) WHERE graph.id = $1::bigint")
        static let newest = Statement(
            "\(select) WHERE graph.id < $1::bigint ORDER BY graph.id DESC LIMIT $2::bigint")
        static let edges = Statement(
            """
            SELECT   dependency.dependent, dependency.dependency, dependency.condition, dependency.position
            FROM     halyard.graph
            JOIN     halyard.dependency ON dependency.dependent >= graph.first_job
                                       AND dependency.dependent < graph.first_job + graph.jobs
            WHERE    graph.id = $1::bigint
            AND      (dependency.dependent, dependency.position) > ($2::bigint, $3::bigint)
            ORDER BY dependency.dependent, dependency.position
            LIMIT    $4::bigint
            """)
    }
}

extension GraphRecord {
    fileprivate init(_ row: Row) {
        let counts = row.counts(from: 4)
        self.init(
            id: GraphID(row.integer(0)), name: row.optionalString(1), enqueuedAt: row.timestamp(2),
            finishedAt: counts.open == 0 ? row.optionalTimestamp(3) : nil, counts: counts)
    }
}
