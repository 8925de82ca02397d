/// Replaces character references by their characters (HTML standard, 13.2.5.72 to 13.2.5.80).
///
/// The rule for attribute values also applies to text: a name without a semicolon is a reference only if no letter, digit
/// or `=` follows it. Thus an address such as `?a=1&copy=2` stays unchanged.
enum CharacterReferences {
    static func decode(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var text = text
        var output: [UInt8] = []
        text.withUTF8 { decode($0[...], into: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    static func decode(_ text: Slice<UnsafeBufferPointer<UInt8>>, into output: inout [UInt8]) {
        var rest = text
        while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
            output += rest[..<mark]
            rest = rest[(mark + 1)...]
            if let reference = rest.first == UInt8(ascii: "#") ? number(rest) : name(rest) {
                output += reference.text.utf8
                rest = rest[reference.end...]
            } else {
                output.append(UInt8(ascii: "&"))
            }
        }
        output += rest
    }

    /// Returns the character of a reference such as `#65;` or `#x41`, with which `text` begins.
    private static func number(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> (text: Substring, end: Int)? {
        let isHexadecimal = text.dropFirst().first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
        let digits = text.dropFirst(isHexadecimal ? 2 : 1).prefix {
            isHexadecimal ? Character(Unicode.Scalar($0)).isHexDigit : (0x30...0x39).contains($0)
        }
        if digits.isEmpty { return nil }
        let value = UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10) ?? 0
        let scalar = value == 0 ? "\u{FFFD}" : Unicode.Scalar(value) ?? "\u{FFFD}"
        let isClosed = digits.endIndex < text.endIndex && text[digits.endIndex] == UInt8(ascii: ";")
        return (Substring(String(scalar)), digits.endIndex + (isClosed ? 1 : 0))
    }

    /// Returns the characters of a reference such as `amp;` or `amp`, with which `text` begins.
    private static func name(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> (text: Substring, end: Int)? {
        let name = text.prefix(maxName + 1).prefix {
            (0x61...0x7A).contains($0 | 0x20) && $0 >= 0x41 || (0x30...0x39).contains($0)
        }
        let key = Substring(String(decoding: name, as: UTF8.self))
        let next = name.endIndex < text.endIndex ? text[name.endIndex] : 0
        if next == UInt8(ascii: ";") { return (others[key] ?? old[key]).map { ($0, name.endIndex + 1) } }
        return next == UInt8(ascii: "=") ? nil : old[key].map { ($0, name.endIndex) }
    }

    /// The length of the longest name.
    private static let maxName = 31
    private static let old = pairs(NamedCharacters.old)
    private static let others = pairs(NamedCharacters.others)

    private static func pairs(_ text: String) -> [Substring: Substring] {
        let pairs = text.unicodeScalars.split(separator: " ").map { pair in
            let name = pair.prefix { $0 != ":" }
            return (Substring(name), Substring(pair[name.endIndex...].dropFirst()))
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}
