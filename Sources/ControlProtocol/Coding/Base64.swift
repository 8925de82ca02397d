/// Bytes as text, as in RFC 4648 with padding.
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(digit <= group.count ? digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil for a text that is not base64.
    package static func decoded(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        let text = Array(text.utf8)
        guard text.count % 4 == 0 else { return nil }
        for start in stride(from: 0, to: text.count, by: 4) {
            let group = text[start..<start + 4]
            let kept = group.prefix { $0 != UInt8(ascii: "=") }
            guard kept.count >= 2, kept.count == 4 || start + 4 == text.count,
                group.dropFirst(kept.count).allSatisfy({ $0 == UInt8(ascii: "=") })
            else { return nil }
            var bits = 0
            for digit in kept {
                guard let value = value(of: digit) else { return nil }
                bits = bits << 6 | value
            }
            bits <<= 6 * (4 - kept.count)
            for byte in 0..<kept.count - 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> (16 - 8 * byte))) }
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
