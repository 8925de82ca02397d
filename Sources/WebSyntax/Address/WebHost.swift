/// The host of a URL, as the URL standard parses it: `0x7f.1`, `２１３０７０６４３３` and `127.0.0.1.` are all the IP address
/// 127.0.0.1.
public enum WebHost: Hashable, Sendable, CustomStringConvertible {
    /// A name in lower-case ASCII. International names are in their `xn--` form.
    case domain(String)
    case address(IPAddress)

    /// Parses a host.
    ///
    /// - Returns: Nil where the URL standard specifies a failure, for example if there is a zone identifier.
    public init?(parsing text: String) {
        let bytes = Array(text.utf8)
        if bytes.first == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]"), bytes.count > 2,
                let pieces = IPv6Text.parse(Array(bytes[1..<(bytes.count - 1)]))
            else { return nil }
            self = .address(IPAddress(pieces: pieces))
            return
        }
        let decoded = PercentEncoding.decode(bytes[...])
        guard let name = String(validating: decoded, as: UTF8.self), let domain = Self.ascii(name), !domain.isEmpty,
            !domain.utf8.contains(where: Self.isForbidden)
        else { return nil }
        switch IPv4Number.parse(domain) {
        case .address(let value): self = .address(.v4(value))
        case .failure: return nil
        case .notAnAddress: self = .domain(domain)
        }
    }

    public var description: String {
        switch self {
        case .domain(let name): name
        case .address(.v4(let value)): "\(IPAddress.v4(value))"
        case .address(let address): "[\(address)]"
        }
    }

    /// The host without a trailing dot, for lookups and for comparisons with rules.
    package var lookupName: String {
        switch self {
        case .domain(let name): name.hasSuffix(".") ? String(name.dropLast()) : name
        case .address(let address): "\(address)"
        }
    }

    /// Converts the name to ASCII. Plain ASCII names need no table.
    private static func ascii(_ name: String) -> String? {
        let isPlain =
            name.utf8.allSatisfy { $0 < 0x80 }
            && !name.lowercased().split(separator: ".").contains { $0.hasPrefix("xn--") }
        if isPlain { return name.lowercased() }
        return InternationalName.ascii(name)
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte >= 0x7F || "#/:<>?@[\\]^|%".utf8.contains(byte)
    }
}

/// IPv4 addresses in every spelling that the URL standard accepts: decimal, octal or hexadecimal, in one to four parts.
enum IPv4Number {
    enum Answer: Hashable {
        case address(UInt32)
        case failure
        case notAnAddress
    }

    static func parse(_ domain: String) -> Answer {
        var parts = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true, parts.count > 1 { parts.removeLast() }
        guard let last = parts.last, endsInNumber(last) else { return .notAnAddress }
        guard parts.count <= 4 else { return .failure }
        var numbers: [UInt64] = []
        for part in parts {
            guard let number = number(part) else { return .failure }
            numbers.append(number)
        }
        for number in numbers.dropLast() where number > 255 { return .failure }
        let limit = UInt64(1) << UInt64(8 * (5 - numbers.count))
        guard numbers[numbers.count - 1] < limit else { return .failure }
        var address = numbers[numbers.count - 1]
        for (index, number) in numbers.dropLast().enumerated() { address += number << UInt64(8 * (3 - index)) }
        return .address(UInt32(address))
    }

    private static func endsInNumber(_ part: Substring.UTF8View) -> Bool {
        if !part.isEmpty, part.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        let bytes = Array(part)
        return bytes.count >= 2 && bytes[0] == 0x30 && bytes[1] | 0x20 == UInt8(ascii: "x")
            && bytes[2...].allSatisfy { hexDigit($0) != nil }
    }

    private static func number(_ part: Substring.UTF8View) -> UInt64? {
        var digits = Array(part)[...]
        if digits.isEmpty { return nil }
        var radix: UInt64 = 10
        if digits.count >= 2, digits[digits.startIndex] == 0x30 {
            if digits[digits.startIndex + 1] | 0x20 == UInt8(ascii: "x") {
                (radix, digits) = (16, digits.dropFirst(2))
            } else {
                (radix, digits) = (8, digits.dropFirst())
            }
        }
        var value: UInt64 = 0
        for digit in digits {
            guard let digit = hexDigit(digit), UInt64(digit) < radix else { return nil }
            // A number above 2^40 is too large in any position, so its exact value does not matter.
            value = min(value * radix + UInt64(digit), 1 << 40)
        }
        return value
    }
}
