import ControlProtocol
import Jobs

extension StoreControl {
    public func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord> {
        guard (1...10_000).contains(filter.limit) else {
            throw ControlProblem(
                .invalidRequest, "The limit of a listing must be 1 to 10000 jobs, not \(filter.limit).")
        }
        return pages(JobListing(filter))
    }

    private func pages(_ listing: JobListing) -> Pages<JobRecord> {
        Pages { () throws(ControlProblem) in
            var listing = listing
            let jobs = try await mappingStoreErrors(await listing.next(from: self.store))
            return .init(jobs, rest: listing.isOver ? nil : self.pages(listing))
        }
    }

    public func pages(of id: GraphID) async throws(ControlProblem) -> GraphPages {
        guard let graph = try await mappingStoreErrors(await store.graph(id)) else {
            throw .noGraph(id)
        }
        var filter = JobFilter(graph: id, order: .oldestFirst, limit: .max, withInputs: false)
        filter.pageBytes = .max
        return GraphPages(graph: graph, jobs: pages(JobListing(filter)), edges: edges(of: id, after: nil))
    }

    private func edges(of id: GraphID, after position: EdgePosition?) -> Pages<DependencyRecord> {
        Pages { () throws(ControlProblem) in
            let page = try await mappingStoreErrors(
                await self.store.edges(of: id, after: position, limit: EdgePage.maxEdges))
            return .init(page.edges, rest: page.next.map { self.edges(of: id, after: $0) })
        }
    }

    public func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord> {
        guard (1...10_000).contains(limit) else {
            throw ControlProblem(.invalidRequest, "The limit of a listing must be 1 to 10000 graphs, not \(limit).")
        }
        return graphs(limit, below: before)
    }

    private func graphs(_ limit: Int, below: GraphID?) -> Pages<GraphRecord> {
        Pages { () throws(ControlProblem) in
            let wanted = min(limit, Self.graphsPerPage)
            let page = try await mappingStoreErrors(await self.store.graphs(limit: wanted, before: below))
            let isLast = page.count < wanted || limit == wanted
            return .init(page, rest: isLast ? nil : self.graphs(limit - wanted, below: page.last?.id))
        }
    }

    private static let graphsPerPage = 250
}
