import WebSyntax

/// An address family, identified by the type of its records.
enum AddressFamily: UInt16, CaseIterable, Sendable {
    // The numbers of the record types A and AAAA.
    case v4 = 1
    case v6 = 28
}

/// A name server's answer for the addresses of one family.
enum DNSAnswer: Hashable, Sendable {
    case addresses([IPAddress], ttl: UInt32)
    /// The name exists, but has no addresses of this family. The time to live is nil if the server gave none.
    case none(ttl: UInt32?)
    case noSuchName(ttl: UInt32?)
    /// The server refused, failed, or sent a malformed message.
    case failed

    var addresses: [IPAddress] {
        if case .addresses(let addresses, _) = self { addresses } else { [] }
    }
}

/// Queries and answers of the domain name system (RFC 1035, RFC 2308, RFC 6891).
///
/// The parser reads untrusted bytes, so every step is bounded. A name has at most 255 bytes. It contains at most
/// ``maxPointers`` compression pointers, which may only lead backwards. An alias chain has at most ``maxAliases``
/// steps, and an answer at most ``maxAddresses`` addresses.
enum DNSMessage {
    static let maxAddresses = 32
    static let maxAliases = 16
    /// The maximum number of compression pointers in a name; no name has more labels than that.
    static let maxPointers = 127
    /// The largest UDP answer that usually arrives without fragmentation, in bytes (recommended by DNS flag day 2020).
    static let udpBytes = 1232

    /// Encodes a query for a name's addresses of one family.
    ///
    /// - Returns: Nil if the name does not fit into a query; such a name cannot exist.
    static func query(_ name: String, _ family: AddressFamily, id: UInt16) -> [UInt8]? {
        var bytes: [UInt8] = []
        append(id, to: &bytes)
        // Recursion desired; one question, one additional record.
        for field: UInt16 in [0x0100, 1, 0, 0, 1] { append(field, to: &bytes) }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.count) else { return nil }
            bytes.append(UInt8(label.count))
            bytes.append(contentsOf: label)
        }
        bytes.append(0)
        guard bytes.count - headerBytes <= 255 else { return nil }
        append(family.rawValue, to: &bytes)
        append(internet, to: &bytes)
        // The OPT record: root name, type 41, our UDP size, no flags, no data.
        bytes.append(0)
        for field: UInt16 in [41, UInt16(udpBytes), 0, 0, 0] { append(field, to: &bytes) }
        return bytes
    }

    /// Parses a name server's answer; ``DNSAnswer/failed`` if it is malformed.
    static func answer(_ message: [UInt8], for name: String, _ family: AddressFamily) -> DNSAnswer {
        do throws(Malformed) { return try read(message, for: name, family) } catch { return .failed }
    }

    private struct Malformed: Error {}
    private static let headerBytes = 12
    private static let internet: UInt16 = 1

    private static func append(_ field: UInt16, to bytes: inout [UInt8]) {
        bytes.append(UInt8(field >> 8))
        bytes.append(UInt8(truncatingIfNeeded: field))
    }

    /// The relevant records, by owner name.
    private struct Records {
        var addresses: [[UInt8]: (found: [IPAddress], ttl: UInt32)] = [:]
        var aliases: [[UInt8]: (target: [UInt8], ttl: UInt32)] = [:]
        /// How long a negative answer may be cached.
        var negativeTTL: UInt32?
    }

    private static func read(
        _ message: [UInt8], for name: String, _ family: AddressFamily
    ) throws(Malformed) -> DNSAnswer {
        var reader = Reader(bytes: message)
        _ = try reader.number16()
        let flags = try reader.number16()
        guard flags & 0x8000 != 0 else { throw Malformed() }
        let counts = (try reader.number16(), try reader.number16(), try reader.number16())
        _ = try reader.number16()
        for _ in 0..<counts.0 {
            _ = try reader.name()
            try reader.skip(4)
        }
        var records = Records()
        for _ in 0..<counts.1 { try readRecord(family, from: &reader, into: &records) }
        // If the authority section is malformed, only the time to live is lost.
        for _ in 0..<counts.2 {
            do throws(Malformed) { try readRecord(family, from: &reader, into: &records) } catch { break }
        }
        switch flags & 0xF {
        case 0: break
        case 3: return .noSuchName(ttl: records.negativeTTL)
        default: return .failed
        }
        var owner = Array(name.lowercased().utf8)
        var ttl = UInt32.max
        for _ in 0...maxAliases {
            if let entry = records.addresses[owner] {
                return .addresses(Array(entry.found.prefix(maxAddresses)), ttl: min(ttl, entry.ttl))
            }
            guard let alias = records.aliases[owner] else { return .none(ttl: records.negativeTTL) }
            ttl = min(ttl, alias.ttl)
            owner = alias.target
        }
        return .failed
    }

    private static func readRecord(
        _ family: AddressFamily, from reader: inout Reader, into records: inout Records
    ) throws(Malformed) {
        let owner = try reader.name()
        let type = try reader.number16()
        let isInternet = try reader.number16() == internet
        let rawTTL = try reader.number32()
        // RFC 2181: a value with the highest bit set counts as zero.
        let ttl = rawTTL > UInt32(Int32.max) ? 0 : rawTTL
        let length = Int(try reader.number16())
        var data = try reader.slice(length)
        guard isInternet else { return }
        switch type {
        case family.rawValue:
            let address: IPAddress
            switch (family, length) {
            case (.v4, 4): address = .v4(try data.number32())
            case (.v6, 16): address = .v6(try data.number64(), try data.number64())
            default: throw Malformed()
            }
            var entry = records.addresses[owner] ?? ([], ttl)
            if entry.found.count < maxAddresses, !entry.found.contains(address) { entry.found.append(address) }
            entry.ttl = min(entry.ttl, ttl)
            records.addresses[owner] = entry
        case 5:
            records.aliases[owner] = (try data.name(), ttl)
        case 6:
            _ = try data.name()
            _ = try data.name()
            try data.skip(16)
            records.negativeTTL = min(ttl, try data.number32())
        default: break
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0
        var end: Int

        init(bytes: [UInt8]) {
            self.bytes = bytes
            end = bytes.count
        }

        mutating func byte() throws(Malformed) -> UInt8 {
            guard position < end else { throw Malformed() }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func skip(_ count: Int) throws(Malformed) {
            guard count <= end - position else { throw Malformed() }
            position += count
        }

        mutating func number16() throws(Malformed) -> UInt16 { UInt16(try byte()) << 8 | UInt16(try byte()) }
        mutating func number32() throws(Malformed) -> UInt32 { UInt32(try number16()) << 16 | UInt32(try number16()) }
        mutating func number64() throws(Malformed) -> UInt64 { UInt64(try number32()) << 32 | UInt64(try number32()) }

        /// Returns a reader for the next `count` bytes. Names in them may contain pointers to earlier bytes.
        mutating func slice(_ count: Int) throws(Malformed) -> Reader {
            var part = self
            try skip(count)
            part.end = position
            return part
        }

        /// Reads a name. Returns it in lower case, with dots between its labels.
        mutating func name() throws(Malformed) -> [UInt8] {
            var name: [UInt8] = []
            var next = position
            var pointers = 0
            while true {
                guard next < (pointers > 0 ? bytes.count : end) else { throw Malformed() }
                let length = Int(bytes[next])
                switch length {
                case 0:
                    if pointers == 0 { position = next + 1 }
                    return name
                case 1...63:
                    guard next + 1 + length <= bytes.count, name.count + length < 255 else { throw Malformed() }
                    if !name.isEmpty { name.append(UInt8(ascii: ".")) }
                    for byte in bytes[(next + 1)..<(next + 1 + length)] {
                        name.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
                    }
                    next += 1 + length
                case 0xC0...:
                    guard next + 1 < bytes.count else { throw Malformed() }
                    let target = (length & 0x3F) << 8 | Int(bytes[next + 1])
                    // A pointer may only lead backwards, so that there is no loop.
                    guard target < next, pointers < maxPointers else { throw Malformed() }
                    if pointers == 0 { position = next + 2 }
                    pointers += 1
                    next = target
                default: throw Malformed()
                }
            }
        }
    }
}
