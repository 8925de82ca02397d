/// The data that an attempt saved so that a later attempt of the same job can resume its work.
///
/// A job has at most one checkpoint, its last one. It stays while the job is open, however attempts end, and is deleted by
/// the transaction that makes the job final. A job that repeats a final one begins without a checkpoint.
public struct Checkpoint: Hashable, Sendable {
    /// The number of the attempt that saved it.
    public var attempt: Int
    /// When it was saved.
    public var savedAt: Timestamp
    /// The saved data.
    public var value: JSONText

    /// Creates a checkpoint from its stored values.
    public init(attempt: Int, savedAt: Timestamp, value: JSONText) {
        self.attempt = attempt
        self.savedAt = savedAt
        self.value = value
    }

    /// The maximum size of ``value``: 64 KiB. ``JobContext/save(_:)`` and the runner refuse larger values, and the tables
    /// of the stores have the same limit.
    public static let maxBytes = 64 << 10
}

/// A checkpoint of a running attempt, to be saved.
public struct CheckpointSave: Hashable, Sendable {
    /// The attempt, which must still run.
    public var lease: Lease
    /// The data, at most ``Checkpoint/maxBytes``.
    public var value: JSONText

    /// Creates a request; the size is not checked.
    public init(lease: Lease, value: JSONText) {
        self.lease = lease
        self.value = value
    }
}

/// The result of saving a checkpoint.
public enum SaveResult: Hashable, Sendable {
    /// The checkpoint replaced the former one of its job.
    case saved
    /// The attempt was no longer the current one. Nothing changed; stop the attempt.
    case leaseLost
}
