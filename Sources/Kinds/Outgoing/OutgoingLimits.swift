/// How much and how long one exchange may take.
public struct OutgoingLimits: Sendable, Hashable {
    /// To open a connection, TLS included; per address. 10 s unless set.
    public var connect: Duration = .seconds(10)
    /// Without a byte in either direction, the wait for the first byte of an answer included. 30 s unless set.
    public var idle: Duration = .seconds(30)
    /// Names and values of an answer's headers together. 64 KiB unless set.
    public var headerBytes = 64 << 10
    /// The longest wait that a server's `Retry-After` is believed. 1 h unless set.
    public var retryAfter: Duration = .seconds(3600)

    public init() {}
}
