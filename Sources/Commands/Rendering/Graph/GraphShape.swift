import ControlProtocol
import Jobs

/// The edges of a graph by job, for drawing.
struct GraphShape {
    struct Edge {
        var job: JobID
        var condition: DependencyCondition
    }

    let jobs: [JobID: JobRecord]
    /// The jobs without a dependency inside the graph, in the order of their numbers.
    let roots: [JobID]
    let dependents: [JobID: [Edge]]
    /// The dependencies on jobs outside the graph.
    let outside: [JobID: [Edge]]

    init(_ detail: GraphDetail) {
        jobs = Dictionary(detail.jobs.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var dependents: [JobID: [Edge]] = [:]
        var outside: [JobID: [Edge]] = [:]
        var hasDependency: Set<JobID> = []
        for edge in detail.edges {
            if jobs[edge.dependency] == nil {
                outside[edge.dependent, default: []].append(Edge(job: edge.dependency, condition: edge.condition))
            } else {
                dependents[edge.dependency, default: []].append(Edge(job: edge.dependent, condition: edge.condition))
                hasDependency.insert(edge.dependent)
            }
        }
        self.dependents = dependents.mapValues { $0.sorted { $0.job < $1.job } }
        self.outside = outside
        roots = detail.jobs.map(\.id).filter { !hasDependency.contains($0) }.sorted()
    }
}

extension JobRecord {
    /// The name that people use for the job within its graph.
    var title: String { node ?? definition }
}
