/// A dependency or a dependent of a job: the job at the other end of one edge.
public struct Neighbour: Sendable, Hashable {
    /// The job at the other end.
    public var job: JobID
    /// The name of that job's definition.
    public var definition: String
    /// The name of the job within its graph; nil if it has none.
    public var node: String?
    /// The state of that job when it was read.
    public var state: JobState
    /// The condition of the edge.
    public var condition: DependencyCondition

    /// Creates a neighbour from its stored values.
    public init(
        job: JobID, definition: String, node: String?, state: JobState, condition: DependencyCondition
    ) {
        self.job = job
        self.definition = definition
        self.node = node
        self.state = state
        self.condition = condition
    }
}

/// The dependencies of a job, up to the limit of the request.
public struct Neighbours: Sendable, Hashable {
    /// The dependencies, in declared order.
    public var jobs: [Neighbour]
    /// The number of all dependencies the job was declared with, including those beyond the limit.
    public var count: Int

    /// Creates a list of the first dependencies, with the number of all.
    public init(jobs: [Neighbour], count: Int) {
        self.jobs = jobs
        self.count = count
    }
}
