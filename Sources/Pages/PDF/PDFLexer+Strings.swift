import WebSyntax

/// Reads names and strings (ISO 32000-2, 7.3.4 and 7.3.5).
extension PDFLexer {
    /// The maximum size of a string in bytes. A longer one is an error.
    private static let maxString = 64 << 10
    /// The maximum size of a name in bytes; a longer one is truncated. The standard allows 127.
    private static let maxName = 1024

    mutating func name() -> String {
        at += 1
        var text: [UInt8] = []
        while let byte, !Self.isDelimiter(byte) {
            at += 1
            var letter = byte
            if byte == UInt8(ascii: "#"), at + 1 < bytes.count, let high = hexDigit(bytes[at]),
                let low = hexDigit(bytes[at + 1])
            {
                letter = high << 4 | low
                at += 2
            }
            if text.count < Self.maxName { text.append(letter) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    mutating func literal() -> [UInt8]? {
        at += 1
        var text: [UInt8] = []
        var depth = 1
        while let byte, text.count < Self.maxString {
            at += 1
            switch byte {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                depth -= 1
                if depth == 0 { return text }
            case UInt8(ascii: "\\"):
                if let escaped = escaped() { text.append(escaped) }
                continue
            case 0x0D:
                // Every kind of line ending becomes one line feed.
                if self.byte == 0x0A { at += 1 }
                text.append(0x0A)
                continue
            default: break
            }
            text.append(byte)
        }
        return nil
    }

    /// Returns the byte that an escape sequence represents; nil for an escaped line ending, which represents nothing.
    private mutating func escaped() -> UInt8? {
        guard let first = byte else { return nil }
        at += 1
        switch first {
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case 0x0A: return nil
        case 0x0D:
            if byte == 0x0A { at += 1 }
            return nil
        case 0x30...0x37:
            var value = first - 0x30
            for _ in 0..<2 {
                guard let digit = byte, (0x30...0x37).contains(digit) else { break }
                // The standard says to ignore an overflow.
                value = value << 3 | (digit - 0x30)
                at += 1
            }
            return value
        default: return first
        }
    }

    mutating func hexadecimal() -> [UInt8]? {
        at += 1
        var text: [UInt8] = []
        var high: UInt8?
        while let byte, text.count < Self.maxString {
            at += 1
            if byte == UInt8(ascii: ">") {
                if let high { text.append(high << 4) }
                return text
            }
            guard let digit = hexDigit(byte) else {
                guard Self.isSpace(byte) else { return nil }
                continue
            }
            if let first = high {
                text.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return nil
    }
}
