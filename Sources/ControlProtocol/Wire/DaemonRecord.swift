import Jobs

/// A daemon that runs jobs of the database, or ran some until a day ago.
public struct DaemonRecord: Sendable, Hashable {
    /// Whether the daemon runs.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// `running` while its lease lasts, `ended` after its stop, its death or the end of its lease.
        case running, ended
    }

    /// The number of its lease, which no other start has.
    public var lease: Int64
    /// The name for people (`daemon.name`).
    public var name: String
    /// The machine that it runs on.
    public var host: String
    /// The version of its program.
    public var version: String
    /// Whether it runs.
    public var state: State
    /// The queues whose jobs it runs; nil for all.
    public var queues: [String]?
    /// The names of the kinds whose jobs the daemon runs.
    public var kinds: [String]
    /// The number of its running jobs.
    public var running: Int
    /// When it started, or began its current lease.
    public var startedAt: Timestamp
    /// When the database heard of it last.
    public var seenAt: Timestamp
    /// When its lease ends unless it is renewed; nil if it lasts until the daemon stops.
    public var aliveUntil: Timestamp?
    /// When it ended; nil while it runs.
    public var endedAt: Timestamp?
    /// When it was drained, so that it starts no jobs; nil if it was not.
    public var drainedAt: Timestamp?

    /// Creates a record from its parts.
    public init(
        lease: Int64, name: String, host: String, version: String, state: State, queues: [String]? = nil,
        kinds: [String] = [], running: Int = 0, startedAt: Timestamp, seenAt: Timestamp, aliveUntil: Timestamp? = nil,
        endedAt: Timestamp? = nil, drainedAt: Timestamp? = nil
    ) {
        self.lease = lease
        self.name = name
        self.host = host
        self.version = version
        self.state = state
        self.queues = queues
        self.kinds = kinds
        self.running = running
        self.startedAt = startedAt
        self.seenAt = seenAt
        self.aliveUntil = aliveUntil
        self.endedAt = endedAt
        self.drainedAt = drainedAt
    }
}
