/// The only daemon that can run a job, since it has a file that the job needs.
public struct JobHome: Sendable, Hashable {
    /// ``Holder/identity``.
    public var identity: String
    /// ``Holder/name`` of its last life.
    public var name: String
    /// When its last life ended; nil while it lasts.
    public var endedAt: Timestamp?
    /// When it was drained; nil if it is not (``JobStore/setDrained(_:identity:now:)``).
    public var drainedAt: Timestamp?

    /// Creates a value. This initializer is for stores.
    public init(identity: String, name: String, endedAt: Timestamp?, drainedAt: Timestamp? = nil) {
        self.identity = identity
        self.name = name
        self.endedAt = endedAt
        self.drainedAt = drainedAt
    }
}
