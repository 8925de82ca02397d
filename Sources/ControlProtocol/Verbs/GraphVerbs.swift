import Jobs

/// The verbs for graphs.
public protocol GraphVerbs: Sendable {
    /// Returns a graph, with its jobs and edges in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such graph.
    func pages(of graph: GraphID) async throws(ControlProblem) -> GraphPages
    /// Returns at most `limit` graphs, the newest first, without their jobs, in pages that are read on demand.
    ///
    /// - Parameters:
    ///   - limit: 1 to 10,000.
    ///   - before: Returns only graphs with lower numbers; nil for all.
    /// - Throws: ``ControlProblem``, `invalidRequest` if the limit is out of range.
    func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord>
}

extension GraphVerbs {
    /// Returns all of ``pages(of:)``.
    public func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail {
        let pages = try await pages(of: id)
        return GraphDetail(graph: pages.graph, jobs: try await pages.jobs.all(), edges: try await pages.edges.all())
    }

    /// Returns all of ``graphPages(limit:before:)``.
    public func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord] {
        try await graphPages(limit: limit, before: before).all()
    }
}

extension CallingControl {
    public func pages(of id: GraphID) async throws(ControlProblem) -> GraphPages {
        let graph: GraphDetail = try await value(of: Call(.get, "graphs", "\(id)"))
        return GraphPages(graph: graph.graph, jobs: Pages(graph.jobs), edges: Pages(graph.edges))
    }

    public func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord> {
        var call = Call(.get, "graphs").with(query: ("limit", "\(limit)"))
        if let before { call.query.append(("before", "\(before)")) }
        return Pages(try await value(of: call))
    }
}

extension Route {
    static func graphs(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "graphs") { request in
                let query = try request.query("limit", "before")
                let limit = try query.number("limit") ?? 100
                guard limit <= 10_000 else {
                    throw ControlProblem(.invalidRequest, "\"limit\" must be a number from 1 to 10000, not \(limit).")
                }
                let before = try query.number("before").map { GraphID($0) }
                return .listing(.array(of: try await control.graphPages(limit: Int(limit), before: before)))
            },
            Route(.get, "graphs/{graph}") { .listing(.graph(try await control.pages(of: $0.graph()))) },
            Route(.post, "graphs/{graph}/cancel") { .value(try await control.cancel(.graph($0.graph())).json) },
        ]
    }
}
