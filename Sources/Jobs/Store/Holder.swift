/// A daemon that runs jobs of a store. Its attempts end with its life (``HolderLife``).
public struct Holder: Sendable, Hashable {
    /// Identifies the daemon across its lives. Two daemons that run at the same time never share an identity: each
    /// proves with a lock on its own folder that no other process uses it.
    public var identity: String
    /// The name for people. Default: the host's name.
    public var name: String
    /// The name of the machine that it runs on.
    public var host: String
    /// The version of its program.
    public var version: String
    /// The queues that it claims from; nil for all.
    public var queues: [String]?
    /// The kinds whose jobs it claims, if it has registered them too; nil for all that it registers.
    public var kinds: [String]?
    /// Identifies the running system of its machine and the daemon's home there: it changes with each boot, and differs
    /// between machines that were cloned from one image, and between a home and its copy. Empty if nobody compares it.
    public var machine: String

    /// Creates a description of a daemon.
    public init(
        identity: String, name: String? = nil, host: String, version: String, queues: [String]? = nil,
        kinds: [String]? = nil, machine: String = ""
    ) {
        self.identity = identity
        self.name = name ?? host
        self.host = host
        self.version = version
        self.queues = queues
        self.kinds = kinds
        self.machine = machine
    }

    /// Whether it claims jobs of the queue.
    public func serves(queue: String) -> Bool { queues?.contains(queue) ?? true }
}

/// The number of one life of a holder: positive, assigned in ascending order, and never used twice in one database.
public struct HolderID: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Wraps a number; it is not checked.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public var description: String { String(rawValue) }
    public static func < (a: HolderID, b: HolderID) -> Bool { a.rawValue < b.rawValue }
}

/// A life of a holder, as ``JobStore/begin(_:now:)`` or ``JobStore/renew(_:now:)`` grants it.
///
/// Invariants, cited by code and tests:
/// - H1: A life ends once, with its goodbye, with the next life of the same identity, or when its time is over. It is
///   never renewed after that.
/// - H2: Only the jobs of ended lives are rescued.
/// - H3: The end of an attempt names the life that claimed it, and changes nothing if the job was rescued since.
public struct HolderLife: Sendable, Hashable {
    /// The number of the life.
    public var id: HolderID
    /// The time that the life lasts, counted from the moment at which the caller sent the request. Nil if it lasts
    /// until its goodbye, because the store has only one holder at a time.
    public var length: Duration?
    /// Whether other lives have ended and left running jobs, which ``JobStore/rescue(_:by:now:)`` returns.
    public var hasOrphans: Bool

    /// Creates a life. This initializer is for stores.
    public init(id: HolderID, length: Duration? = nil, hasOrphans: Bool = false) {
        self.id = id
        self.length = length
        self.hasOrphans = hasOrphans
    }

    /// The length of a life in a store with several holders. A holder renews its life each third of it.
    public static let usualLength = Duration.seconds(30)
}

/// The answer to a renewal.
public enum Renewal: Sendable, Hashable {
    /// The life lasts on from the moment at which the request was sent.
    case renewed(HolderLife)
    /// The life has ended, and its jobs may already run elsewhere. Begin a new one.
    case ended
}

/// A life of a holder with its current state, for display and for programs.
public struct HolderRecord: Sendable, Hashable {
    /// The number of the life.
    public var id: HolderID
    /// The holder.
    public var holder: Holder
    /// The kinds whose jobs it claims, sorted: the kinds that it registered (``JobStore/register(_:by:now:)``), limited
    /// to ``Holder/kinds``.
    public var kinds: [String]
    /// When the life began.
    public var startedAt: Timestamp
    /// When the life was last renewed; its begin if it was not.
    public var seenAt: Timestamp
    /// When the life ends unless it is renewed; nil if it lasts until its goodbye.
    public var aliveUntil: Timestamp?
    /// When the life ended; nil while it lasts.
    public var endedAt: Timestamp?
    /// The number of its running jobs by the queue's name. Queues without running jobs are absent.
    public var runningByQueue: [String: Int]
    /// When the holder was drained; nil if it is not (``JobStore/setDrained(_:identity:now:)``).
    public var drainedAt: Timestamp?

    /// Creates a record from its stored values.
    public init(
        id: HolderID, holder: Holder, kinds: [String], startedAt: Timestamp, seenAt: Timestamp, aliveUntil: Timestamp?,
        endedAt: Timestamp?, runningByQueue: [String: Int] = [:], drainedAt: Timestamp? = nil
    ) {
        self.id = id
        self.holder = holder
        self.kinds = kinds
        self.startedAt = startedAt
        self.seenAt = seenAt
        self.aliveUntil = aliveUntil
        self.endedAt = endedAt
        self.runningByQueue = runningByQueue
        self.drainedAt = drainedAt
    }

    /// The kinds of `registered` that a holder serves.
    package static func kinds(_ registered: [String], servedBy holder: Holder) -> [String] {
        holder.kinds.map { served in registered.filter(served.contains) } ?? registered
    }

    /// The number of its running jobs.
    public var running: Int { runningByQueue.values.reduce(0, +) }
}

/// How to rescue the jobs of ended lives.
public struct RescueRequest: Sendable, Hashable {
    /// The number of crashes in which a job may have been the only running one; after more, it fails with `crashed`. An
    /// unexplained end counts as a tenth of a crash (``LastEnd/unexplainedPerCrash``). A restart of the machine does not
    /// count.
    public var maxRescues: Int
    /// How the previous life of the caller's own identity ended. The end of any other life that did not say goodbye is
    /// unexplained.
    public var lastEnd: LastEnd

    /// Creates a request. Default: nothing is known about the previous life.
    public init(maxRescues: Int, after lastEnd: LastEnd = .unexplained) {
        self.maxRescues = maxRescues
        self.lastEnd = lastEnd
    }
}
