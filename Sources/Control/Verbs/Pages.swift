import Jobs

/// A long answer, read a few elements at a time. Each page shows the state at the moment it was read.
public struct Pages<Element: Sendable>: Sendable {
    /// One page. It may be empty although more pages follow.
    public struct Page: Sendable {
        public var elements: [Element]
        /// The following pages; nil at the end.
        public var rest: Pages<Element>?

        public init(_ elements: [Element], rest: Pages<Element>? = nil) {
            self.elements = elements
            self.rest = rest
        }
    }

    public let read: @Sendable () async throws(ControlProblem) -> Page

    public init(_ read: @escaping @Sendable () async throws(ControlProblem) -> Page) { self.read = read }

    /// Reads all pages.
    public func all() async throws(ControlProblem) -> [Element] {
        var page = try await read()
        var elements = page.elements
        while let rest = page.rest {
            page = try await rest.read()
            elements += page.elements
        }
        return elements
    }
}

/// A graph with everything in it, read a few jobs and edges at a time.
public struct GraphPages: Sendable {
    public var graph: GraphRecord
    /// The jobs, without their inputs.
    public var jobs: Pages<JobRecord>
    public var edges: Pages<DependencyRecord>

    public init(graph: GraphRecord, jobs: Pages<JobRecord>, edges: Pages<DependencyRecord>) {
        self.graph = graph
        self.jobs = jobs
        self.edges = edges
    }
}

extension JobControl {
    public func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord> {
        Pages { () throws(ControlProblem) in .init(try await jobs(filter)) }
    }

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
