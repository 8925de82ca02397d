/// The result of removing a queue.
public enum QueueRemoval: Sendable, Hashable {
    case removed
    /// There is no such queue, or it is the default queue, which every database has.
    case unknown
    case used(QueueUsers)
}

/// The users that prevent the removal of a queue.
public struct QueueUsers: Sendable, Hashable {
    public var openJobs: Int64
    public var definitions: [String] = []
    public var graphs: [String] = []
    public var schedules: [String] = []

    public init(openJobs: Int64 = 0) { self.openJobs = openJobs }

    public var isEmpty: Bool { openJobs == 0 && definitions.isEmpty && graphs.isEmpty && schedules.isEmpty }
}
