/// The limits of one HTTP exchange.
public struct OutgoingLimits: Sendable, Hashable {
    /// The time limit for each step of opening a connection: connecting to an address, setting up the tunnel through a
    /// proxy, and the TLS handshake. Default: 10 s.
    public var connect: Duration = .seconds(10)
    /// How long the client waits for the next byte of a response, including the first byte. The limit does not apply
    /// while the request's body is being sent. Default: 30 s.
    public var idle: Duration = .seconds(30)
    /// The largest accepted head of a response (status line and header fields), in bytes. Default: 64 KiB.
    public var headerBytes = 64 << 10
    /// The longest wait that a server may ask for with `Retry-After`; longer waits are shortened. Default: 1 hour.
    public var retryAfter: Duration = .seconds(3600)

    /// Creates limits with their default values.
    public init() {}
}
