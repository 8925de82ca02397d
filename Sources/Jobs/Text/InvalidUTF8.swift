/// The first bytes of a text that are not UTF-8.
package struct InvalidUTF8: CustomStringConvertible {
    /// The line number, from 1.
    package let line: Int
    package let byte: UInt8

    /// Returns nil if all bytes are UTF-8.
    package init?(in bytes: [UInt8]) {
        var rest = bytes.makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        var good = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { good += scalar.count }
        guard good < bytes.count else { return nil }
        line = bytes[..<good].count { $0 == UInt8(ascii: "\n") } + 1
        byte = bytes[good]
    }

    /// Such as `line 2 contains the byte 0xE9`.
    package var description: String { "line \(line) contains the byte 0x\(String(byte, radix: 16, uppercase: true))" }
}
