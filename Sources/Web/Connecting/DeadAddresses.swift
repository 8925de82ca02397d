import NIOCore
import Synchronization
import WebSyntax

/// Addresses that recently did not accept a connection, and are therefore tried last.
///
/// An address is remembered for ``rest``, or until it accepts a connection. At most ``capacity`` addresses are
/// remembered.
final class DeadAddresses: Sendable {
    struct Endpoint: Hashable, Sendable {
        var address: IPAddress
        var port: UInt16
    }

    static let rest = TimeAmount.minutes(5)
    static let capacity = 1024

    private let entries = Mutex(ExpiringCache<Endpoint, Void, NIODeadline>(capacity: capacity))
    private let now: @Sendable () -> NIODeadline

    init(now: @escaping @Sendable () -> NIODeadline = { .now() }) { self.now = now }

    func contains(_ endpoint: Endpoint) -> Bool { entries.withLock { $0.value(of: endpoint, at: now()) != nil } }

    func note(_ endpoint: Endpoint) {
        let now = now()
        entries.withLock { $0.keep((), of: endpoint, until: now + Self.rest, now: now) }
    }

    func forget(_ endpoint: Endpoint) { entries.withLock { $0.remove(endpoint) } }
}
