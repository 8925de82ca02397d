import Jobs

/// A long answer, read one page at a time. Each page shows the state at the time when it was read.
public struct Pages<Element: Sendable>: Sendable {
    /// One page. It may be empty although more pages follow.
    public struct Page: Sendable {
        /// The elements of the page.
        public var elements: [Element]
        /// The following pages; nil if this is the last page.
        public var rest: Pages<Element>?

        /// Creates a page.
        public init(_ elements: [Element], rest: Pages<Element>? = nil) {
            self.elements = elements
            self.rest = rest
        }
    }

    /// Reads the first of these pages. Throws ``ControlProblem``; reading again is safe.
    public let read: @Sendable () async throws(ControlProblem) -> Page

    /// Creates pages from a function that reads the first one.
    public init(_ read: @escaping @Sendable () async throws(ControlProblem) -> Page) { self.read = read }

    /// Creates a single page of elements that were already read.
    public init(_ elements: [Element]) { self.init { () throws(ControlProblem) in Page(elements) } }

    /// Reads all pages and returns their elements.
    ///
    /// - Throws: ``ControlProblem``. Reading again is safe.
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

/// A graph with its jobs and edges, read one page at a time.
public struct GraphPages: Sendable {
    /// The graph's own record.
    public var graph: GraphRecord
    /// The jobs, without their inputs.
    public var jobs: Pages<JobRecord>
    /// The edges whose dependent is in the graph.
    public var edges: Pages<DependencyRecord>

    /// Creates the pages of a graph.
    public init(graph: GraphRecord, jobs: Pages<JobRecord>, edges: Pages<DependencyRecord>) {
        self.graph = graph
        self.jobs = jobs
        self.edges = edges
    }
}
