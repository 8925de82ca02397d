/// A message that another connection has sent with `NOTIFY`.
public struct Notification: Sendable, Hashable {
    public var channel: String
    public var payload: String
    /// The server's process of the sender, ``Connection/backend``.
    public var backend: Int32
}
