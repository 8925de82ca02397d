/// What became of the wish to remove a queue.
public enum QueueRemoval: Sendable, Hashable {
    case removed
    /// Also for the default queue, which every database has.
    case unknown
    case used(QueueUsers)
}

/// What keeps a queue from being removed.
public struct QueueUsers: Sendable, Hashable {
    public var openJobs: Int64
    public var definitions: [String] = []
    public var graphs: [String] = []
    public var schedules: [String] = []

    public init(openJobs: Int64 = 0) { self.openJobs = openJobs }

    public var isEmpty: Bool { openJobs == 0 && definitions.isEmpty && graphs.isEmpty && schedules.isEmpty }
}
