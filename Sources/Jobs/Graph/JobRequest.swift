/// A request for one job of a graph. It refers by name to its definition and to other nodes, and by number to existing
/// jobs.
public struct JobRequest: Sendable, Hashable {
    /// An edge to a job that must end first.
    public struct Dependency: Sendable, Hashable {
        /// The job that is waited for.
        public enum Job: Sendable, Hashable {
            /// Another job of the same graph, by its node name.
            case node(String)
            /// A job that was accepted earlier.
            case job(JobID)
        }

        /// The job to wait for.
        public var job: Job
        /// The condition that it must meet.
        public var condition: DependencyCondition

        /// Creates an edge. Default: the job must have succeeded.
        public init(_ job: Job, condition: DependencyCondition = .succeeded) {
            self.job = job
            self.condition = condition
        }
    }

    /// The job's name, unique within its graph. If it is nil, no other job can depend on this job.
    public var node: String?
    /// The name of the definition to run. It must not be a graph definition.
    public var definition: String
    /// The explicit input fields, a JSON object; nil for none.
    public var input: JSONText?
    /// The name of the queue; nil for the submission's or the definition's own.
    public var queue: String?
    /// The priority; nil for the submission's or the definition's own.
    public var priority: Priority?
    /// The earliest start; nil for ``Submission/start``.
    public var startAt: Timestamp?
    /// The dependencies, in the order in which their outputs are bound to the input.
    public var after: [Dependency]

    /// Creates a request; ``Catalog/plan(_:kindsOfJobs:)`` checks it.
    public init(
        node: String? = nil, definition: String, input: JSONText? = nil, queue: String? = nil,
        priority: Priority? = nil, startAt: Timestamp? = nil, after: [Dependency] = []
    ) {
        self.node = node
        self.definition = definition
        self.input = input
        self.queue = queue
        self.priority = priority
        self.startAt = startAt
        self.after = after
    }
}
