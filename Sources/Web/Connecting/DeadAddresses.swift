import NIOCore
import Synchronization
import WebSyntax

/// Addresses that recently did not accept a connection, and are therefore tried last.
///
/// An address is remembered for ``rest``, or until it accepts a connection. At most ``capacity`` addresses are
/// remembered.
final class DeadAddresses: Sendable {
    struct Place: Hashable, Sendable {
        var address: IPAddress
        var port: UInt16
    }

    static let rest = TimeAmount.minutes(5)
    static let capacity = 1024

    private let entries = Mutex<[Place: NIODeadline]>([:])
    private let now: @Sendable () -> NIODeadline

    init(now: @escaping @Sendable () -> NIODeadline = { .now() }) { self.now = now }

    func contains(_ place: Place) -> Bool {
        entries.withLock { entries in
            guard let until = entries[place] else { return false }
            if until > now() { return true }
            entries[place] = nil
            return false
        }
    }

    func note(_ place: Place) {
        let now = now()
        entries.withLock { entries in
            if entries.count >= Self.capacity, entries[place] == nil {
                entries = entries.filter { $0.value > now }
                // Forgets a random address. If that address is still dead, the next connection to its host takes at
                // most a quarter of a second longer.
                if entries.count >= Self.capacity, let other = entries.keys.randomElement() { entries[other] = nil }
            }
            entries[place] = now + Self.rest
        }
    }

    func forget(_ place: Place) { entries.withLock { $0[place] = nil } }
}
