/// A message that another connection has sent with `NOTIFY`.
public struct Notification: Sendable, Hashable {
    public var channel: String
    public var payload: String
    /// The number of the sender's server process, ``Connection/backend``.
    public var backend: Int32
}
