/// The reason why a connection could not be opened or can no longer be used.
enum ConnectionError: Error, Hashable, Sendable {
    case connectTimeout
    case refused
    case secureTimeout
    case proxyTimeout
    case proxyUnreachable
    case proxyRefused
    case proxyWantsPassword
    /// The other side closed the connection, or the connection broke.
    case closed
    /// The connection was closed before any byte of the request was sent.
    case closedBefore
    /// No byte arrived within the limit.
    case idle
    /// The body's actual length differs from its announced length.
    case bodyLength
}
