/// An IPv4 or IPv6 address as a number, without a port or a zone.
public enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// An IPv4 address; its first octet is the most significant byte.
    case v4(UInt32)
    /// An IPv6 address: its first and its last eight bytes, each as a big-endian number.
    case v6(UInt64, UInt64)

    /// Parses `192.0.2.1` or `2001:db8::1`. Returns nil for looser spellings: leading zeros, short IPv4 forms,
    /// brackets, or a zone.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        if bytes.contains(UInt8(ascii: ":")) {
            guard let pieces = IPv6Text.parse(bytes) else { return nil }
            self.init(pieces: pieces)
        } else {
            let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count == 4 else { return nil }
            var value: UInt32 = 0
            for part in parts {
                guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
                    part.allSatisfy({ (0x30...0x39).contains($0) }),
                    let octet = UInt8(String(decoding: part, as: UTF8.self))
                else { return nil }
                value = value << 8 | UInt32(octet)
            }
            self = .v4(value)
        }
    }

    init(pieces: [UInt16]) {
        let high = pieces[0..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        let low = pieces[4..<8].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        self = .v6(high, low)
    }

    package var bits: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    public var description: String {
        switch self {
        case .v4(let value): Self.dotted(value)
        case .v6(let high, let low):
            IPv6Text.format(
                (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 % 4))) })
        }
    }

    /// The IPv4 address as text. String interpolation would allocate memory, and each request writes its address
    /// several times.
    private static func dotted(_ value: UInt32) -> String {
        String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            func write(_ byte: UInt8) {
                text[count] = byte
                count += 1
            }
            for shift in [24, 16, 8, 0] {
                if count > 0 { write(UInt8(ascii: ".")) }
                let octet = UInt8(truncatingIfNeeded: value >> shift)
                if octet >= 100 { write(0x30 + octet / 100) }
                if octet >= 10 { write(0x30 + octet / 10 % 10) }
                write(0x30 + octet % 10)
            }
            return count
        }
    }
}

/// All addresses that share their first bits, such as `10.0.0.0/8`.
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    public let address: IPAddress
    /// The number of leading bits that the network's addresses have in common.
    public let prefix: Int

    /// Parses `10.0.0.0/8`, `fd00::/8` or a single address. Returns nil for any other text.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let address = IPAddress(parts[0]) else { return nil }
        var prefix = address.bits
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = Int(parts[1]), given <= prefix
            else { return nil }
            prefix = given
        }
        self.address = address
        self.prefix = prefix
    }

    public func contains(_ other: IPAddress) -> Bool {
        switch (address, other) {
        case (.v4(let mine), .v4(let theirs)):
            return prefix == 0 || (mine ^ theirs) >> UInt32(32 - prefix) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            if prefix == 0 { return true }
            if prefix <= 64 { return (high ^ otherHigh) >> UInt64(64 - prefix) == 0 }
            return high == otherHigh && (low ^ otherLow) >> UInt64(128 - prefix) == 0
        default:
            return false
        }
    }

    public var description: String { "\(address)/\(prefix)" }
}
