/// The fields of a response that describe a file.
package enum FileHeaders {
    package static let digestName = "Repr-Digest"
    package static let dispositionName = "Content-Disposition"

    /// The digest as in RFC 9530, from its hexadecimal form.
    package static func digest(_ sha256: String) -> String {
        let digits = sha256.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return "sha-256=:\(Base64.encoded(bytes)):"
    }

    /// Returns the digest in hexadecimal; nil for a field without a SHA-256.
    package static func sha256(in digest: String) -> String? {
        guard digest.hasPrefix("sha-256=:"), digest.hasSuffix(":"),
            let bytes = Base64.decoded(String(digest.dropFirst(9).dropLast())), bytes.count == 32
        else { return nil }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The name as in RFC 6266.
    package static func disposition(_ name: String) -> String {
        "attachment; filename*=UTF-8''\(percentEncoded(name))"
    }

    /// Returns the name; nil for a field of another shape.
    package static func name(in disposition: String) -> String? {
        let prefix = "attachment; filename*=UTF-8''"
        guard disposition.hasPrefix(prefix) else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(disposition.utf8.dropFirst(prefix.utf8.count))[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
