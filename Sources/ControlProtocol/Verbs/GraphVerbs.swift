import Jobs

/// The verbs for graphs.
public protocol GraphVerbs: Sendable {
    /// Returns a graph with its jobs and edges.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such graph.
    func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail
    /// Returns at most `limit` graphs, the newest first, without their jobs.
    ///
    /// - Parameters:
    ///   - limit: 1 to 10,000.
    ///   - before: Returns only graphs with lower numbers; nil for all.
    /// - Throws: ``ControlProblem``, `invalidRequest` if the limit is out of range.
    func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord]
    /// Returns the same graph as ``graph(_:)``, with its jobs and edges in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such graph.
    func pages(of graph: GraphID) async throws(ControlProblem) -> GraphPages
    /// Returns the same graphs as ``graphs(limit:before:)``, in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, as ``graphs(limit:before:)`` does.
    func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord>
}

extension GraphVerbs {
    public func pages(of id: GraphID) async throws(ControlProblem) -> GraphPages {
        let graph = try await graph(id)
        return GraphPages(
            graph: graph.graph, jobs: Pages { () throws(ControlProblem) in .init(graph.jobs) },
            edges: Pages { () throws(ControlProblem) in .init(graph.edges) })
    }

    public func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord> {
        Pages { () throws(ControlProblem) in .init(try await graphs(limit: limit, before: before)) }
    }
}

extension CallingControl {
    public func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail {
        try await value(of: Call(.get, "graphs", "\(id)"))
    }

    public func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord] {
        var call = Call(.get, "graphs").with(query: ("limit", "\(limit)"))
        if let before { call.query.append(("before", "\(before)")) }
        return try await value(of: call)
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
