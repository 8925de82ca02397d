/// A job that a running job enqueues.
public struct ChildJob: Sendable, Hashable {
    /// The name of the definition to run.
    public var definition: String
    /// The explicit input fields, a JSON object; nil for none.
    public var input: JSONText?
    /// The name of the queue; nil for the definition's queue. If the queue does not exist or was removed, it is
    /// created, because the queue names in code cannot be checked in advance.
    public var queue: String?
    /// The priority; nil for the definition's priority.
    public var priority: Priority?

    /// Creates a child job; it is checked when the attempt succeeds.
    public init(
        definition: String, input: JSONText? = nil, queue: String? = nil, priority: Priority? = nil
    ) {
        self.definition = definition
        self.input = input
        self.queue = queue
        self.priority = priority
    }
}
