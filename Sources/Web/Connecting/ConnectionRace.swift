import NIOCore
import WebSyntax

/// Decides which address of a host is tried next (Happy Eyeballs, RFC 8305).
///
/// 1. Each address is tried at most once, and at most ``maxAttempts`` addresses are tried.
/// 2. The next attempt starts when an attempt fails, or ``delay`` after the latest attempt began.
/// 3. The race is lost when no attempt is pending and no address is left.
struct ConnectionRace: Sendable {
    static let delay = TimeAmount.milliseconds(250)
    static let maxAttempts = 8

    private var waiting: ArraySlice<IPAddress>
    private(set) var pending: [IPAddress] = []

    /// - Parameter addresses: The addresses in the order in which they are tried.
    init(_ addresses: [IPAddress]) { waiting = addresses.prefix(Self.maxAttempts) }

    /// The address to try now; nil when none is left.
    mutating func next() -> IPAddress? {
        guard let address = waiting.popFirst() else { return nil }
        pending.append(address)
        return address
    }

    mutating func failed(_ address: IPAddress) { pending.removeAll { $0 == address } }

    var isLost: Bool { waiting.isEmpty && pending.isEmpty }

    /// Orders addresses so that the two families alternate, beginning with the family of the first address. Addresses
    /// that recently did not answer come last, so that callers do not wait for them again.
    static func order(_ addresses: [IPAddress], isDead: (IPAddress) -> Bool) -> [IPAddress] {
        interleaved(addresses.filter { !isDead($0) }) + interleaved(addresses.filter(isDead))
    }

    private static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let bits = addresses.first?.bits else { return [] }
        let (first, second) = (addresses.filter { $0.bits == bits }, addresses.filter { $0.bits != bits })
        return (0..<max(first.count, second.count)).flatMap { index in
            [first, second].compactMap { index < $0.count ? $0[index] : nil }
        }
    }
}
