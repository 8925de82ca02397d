import Synchronization

/// The upper half of an encoding with one byte per character.
struct SingleByteTable: Sendable {
    /// The UTF-8 form of the bytes 0x80 to 0xFF.
    private let upper: [[UInt8]]

    func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 4)
        for byte in bytes {
            if byte < 0x80 { output.append(byte) } else { output.append(contentsOf: upper[Int(byte) - 0x80]) }
        }
        return output
    }

    private static let cache = Mutex<[String: SingleByteTable]>([:])

    /// Returns the table of an encoding; nil if the encoding uses more than one byte per character.
    static func of(_ name: String) -> SingleByteTable? {
        // These two encodings have the same characters and differ only in display order.
        let name = name == "iso-8859-8-i" ? "iso-8859-8" : name
        return cache.withLock { cache in
            if let table = cache[name] { return table }
            guard let characters = name == "x-user-defined" ? userDefined : IndexSingleByte.characters[name] else {
                return nil
            }
            let table = SingleByteTable(upper: characters.unicodeScalars.map { Array(String($0).utf8) })
            cache[name] = table
            return table
        }
    }

    /// The characters of x-user-defined: byte 0x80 becomes U+F780, and so on.
    private static let userDefined = String(
        String.UnicodeScalarView((UInt32(0xF780)...0xF7FF).compactMap(Unicode.Scalar.init)))
}
