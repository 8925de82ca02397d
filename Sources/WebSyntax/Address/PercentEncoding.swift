/// Percent-encoding with the character sets of the URL standard.
package enum PercentEncoding {
    package enum Part { case path, query, fragment, userinfo }

    package static func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var at = bytes.startIndex
        while at < bytes.endIndex {
            if bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.endIndex, let high = hexDigit(bytes[at + 1]),
                let low = hexDigit(bytes[at + 2])
            {
                output.append(high << 4 | low)
                at += 3
            } else {
                output.append(bytes[at])
                at += 1
            }
        }
        return output
    }

    /// Encodes the bytes that the standard requires to be encoded in this part. All other bytes stay unchanged,
    /// including a `%` that does not begin an escape.
    package static func encode(_ bytes: ArraySlice<UInt8>, for part: Part, into output: inout [UInt8]) {
        for byte in bytes {
            if mustEncode(byte, in: part) { appendEncoded(byte, to: &output) } else { output.append(byte) }
        }
    }

    /// A path or query that follows RFC 3986, as a request line requires. Characters that the URL standard does not
    /// encode (`|`, `^`, a stray `%`, …) are encoded too.
    static func strict(_ text: String) -> String {
        if text.utf8.allSatisfy(isStrict) { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        for (at, byte) in bytes.enumerated() {
            let isSound =
                if byte == UInt8(ascii: "%") {
                    at + 2 < bytes.count && hexDigit(bytes[at + 1]) != nil && hexDigit(bytes[at + 2]) != nil
                } else {
                    isStrict(byte)
                }
            if isSound { output.append(byte) } else { appendEncoded(byte, to: &output) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isStrict(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "-._~!$&'()*+,;=:@/?".utf8.contains(byte)
    }

    private static func appendEncoded(_ byte: UInt8, to output: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static func mustEncode(_ byte: UInt8, in part: Part) -> Bool {
        if byte <= 0x20 || byte >= 0x7F { return true }
        if isAlphanumeric(byte) { return false }
        return switch part {
        case .path: "\"#<>?^`{}".utf8.contains(byte)
        case .query: "\"#<>'".utf8.contains(byte)
        case .fragment: "\"<>`".utf8.contains(byte)
        case .userinfo: "\"#<>?^`{}/:;=@[\\]|".utf8.contains(byte)
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) && byte >= 0x41
    }
}
