/// One job of a graph as a caller asks for it: by names, with edges to other nodes or to existing jobs.
public struct JobRequest: Sendable, Hashable {
    public enum Parent: Sendable, Hashable {
        case node(String)
        case job(JobID)
    }

    public struct Dependency: Sendable, Hashable {
        public var parent: Parent
        public var condition: DependencyCondition

        public init(_ parent: Parent, condition: DependencyCondition = .succeeded) {
            self.parent = parent
            self.condition = condition
        }
    }

    /// Unique within its graph.
    public var node: String?
    public var definition: String
    /// Explicit input fields, a JSON object.
    public var input: JSONText?
    public var queue: String?
    public var priority: Priority?
    public var startAt: Timestamp?
    /// In the order of input binding.
    public var after: [Dependency]

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
