/// The job at the other end of an edge.
public struct Neighbour: Sendable, Hashable {
    public var job: JobID
    public var definition: String
    public var node: String?
    public var state: JobState
    public var condition: DependencyCondition

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

/// The first of a job's dependencies.
public struct Neighbours: Sendable, Hashable {
    public var jobs: [Neighbour]
    /// How many there are, also beyond the limit: as many as were declared.
    public var count: Int

    public init(jobs: [Neighbour], count: Int) {
        self.jobs = jobs
        self.count = count
    }
}
