/// The result of removing a queue.
public enum QueueRemoval: Sendable, Hashable {
    /// The queue was removed.
    case removed
    /// There is no such queue, or it is the default queue, which cannot be removed.
    case unknown
    /// The queue is still in use and was not removed.
    case used(QueueUsers)
}

/// The jobs, definitions and schedules that still use a queue and so prevent its removal.
public struct QueueUsers: Sendable, Hashable {
    /// The number of the queue's jobs that are not final.
    public var openJobs: Int64
    /// The names of the definitions that use the queue.
    public var definitions: [String] = []
    /// The names of the graph definitions with a node that uses the queue.
    public var graphs: [String] = []
    /// The names of the schedules that use the queue.
    public var schedules: [String] = []

    /// Creates a list of users that contains no names yet.
    public init(openJobs: Int64 = 0) { self.openJobs = openJobs }

    /// Whether nothing uses the queue, so that it can be removed.
    public var isEmpty: Bool { openJobs == 0 && definitions.isEmpty && graphs.isEmpty && schedules.isEmpty }
}
