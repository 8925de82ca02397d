/// The limits of one HTTP exchange.
public struct OutgoingLimits: Sendable, Hashable {
    /// The time to open a connection to one address, including the TLS handshake.
    public var connect: Duration = .seconds(10)
    /// The time without a byte in either direction, including the wait for the first byte of the answer.
    public var idle: Duration = .seconds(30)
    /// The size of all names and values of an answer's headers together.
    public var headerBytes = 64 << 10
    /// The longest accepted `Retry-After`.
    public var retryAfter: Duration = .seconds(3600)

    public init() {}
}
