import Jobs
import OperationTypes

/// A message from a worker to the daemon.
public enum WorkerMessage: Hashable, Sendable {
    /// The answer to ``DaemonMessage/hello(_:)``: the kinds that this worker runs.
    case kinds(Announcement)
    /// The answer to ``DaemonMessage/hello(_:)`` if the settings are invalid. The worker then exits.
    case refused([SettingRefusal])
    /// These attempts begin now. If the worker ends before it has sent this for an attempt, the attempt never began.
    case started([Lease])
    /// The progress of an attempt.
    case progress(Lease, OperationProgress)
    /// A checkpoint of an attempt. The daemon answers with ``DaemonMessage/checkpointed(_:id:)`` or
    /// ``DaemonMessage/checkpointRefused(_:id:_:)``.
    case checkpoint(Lease, id: Int, JSONText)
    /// The requests that an attempt has sent so far: a JSON array of ``ConnectionRecord``. A later message replaces it.
    case connections(Lease, JSONText)
    /// An attempt succeeded. Its children are enqueued in the same transaction.
    case succeeded(Lease, output: JSONText, children: [ChildJob])
    /// An attempt failed, or ended because it was asked to stop.
    case failed(Lease, TryFailure)
    /// The answer to ``DaemonMessage/check(id:_:)``: the refusal of each input, in the same order; nil if it can be
    /// accepted.
    case checked(id: Int, refusals: [InputRefusal?])
    /// Asks for the state of a job of this kind, during ``DaemonMessage/cleanUp(id:)``.
    case jobState(id: Int, kind: String, job: JobID)
    /// The answer to ``DaemonMessage/cleanUp(id:)``.
    case cleanedUp(id: Int, isAnythingLeft: Bool)
    /// The answer to ``DaemonMessage/ping(id:)``.
    case pong(id: Int)
}

/// The introduction of a worker.
public struct Announcement: Hashable, Sendable {
    /// The version of the protocol that the worker speaks.
    public var protocolVersion: Int
    /// The worker's own version, for people; nil if it has none.
    public var version: String?
    /// The kinds that the worker runs.
    public var kinds: [AnnouncedKind]
    /// Findings about the settings that do not prevent the start, as sentences for people.
    public var warnings: [String]

    /// Creates an introduction of this version.
    public init(
        protocolVersion: Int = WorkerProtocol.version, version: String? = nil, kinds: [AnnouncedKind],
        warnings: [String] = []
    ) {
        self.protocolVersion = protocolVersion
        self.version = version
        self.kinds = kinds
        self.warnings = warnings
    }
}

/// A kind that a worker runs.
public struct AnnouncedKind: Hashable, Sendable {
    /// The kind's name, types and fields.
    public var description: KindDescription
    /// Whether the worker wants to see inputs before they are accepted.
    public var checksInputs: Bool
    /// Whether the worker wants to hear of recorded successes, and cleans up after ended jobs.
    public var cleansUp: Bool

    /// Creates an announcement. Default: neither checks nor clean-up.
    public init(_ description: KindDescription, checksInputs: Bool = false, cleansUp: Bool = false) {
        self.description = description
        self.checksInputs = checksInputs
        self.cleansUp = cleansUp
    }
}

/// A setting that a worker refuses.
public struct SettingRefusal: Hashable, Sendable, Error {
    /// The name of the setting.
    public var key: String
    /// The index in a list; nil if the whole value is refused.
    public var entry: Int?
    /// The reason and the remedy, which follow the key, such as `is "x"; write a duration such as 30s`.
    public var message: String
    /// The `errno` if the reason is a failed system call, so that it may disappear without a change of the setting.
    public var errorNumber: Int32?

    /// Creates a refusal. Default: the whole value is refused until it is changed.
    public init(key: String, entry: Int? = nil, message: String, errorNumber: Int32? = nil) {
        self.key = key
        self.entry = entry
        self.message = message
        self.errorNumber = errorNumber
    }
}
