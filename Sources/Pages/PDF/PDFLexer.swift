import WebSyntax

/// Parses PDF values (ISO 32000-2, 7.2 and 7.3).
///
/// A lexer goes back only over the text after a number that might begin a reference, so it looks at each byte at most
/// three times. A caller that starts another lexer in the same bytes must charge this lexer's ``work``, so that the
/// total stays bounded.
struct PDFLexer {
    private static let maxDepth = 32

    let bytes: [UInt8]
    var at: Int
    private let start: Int
    /// The total number of bytes that were read again.
    private var again = 0
    /// The maximum number of values that one lexer reads. More are an error.
    private static let maxValues = 1 << 16
    private var values = 0

    init(_ bytes: [UInt8], at start: Int = 0) {
        self.bytes = bytes
        self.start = start
        at = start
    }

    /// The cost so far: the bytes looked at, plus 32 for each value, which costs about as much as 32 bytes.
    var work: Int { at - start + again + 32 * values }

    private mutating func goBack(to place: Int) {
        again += at - place
        at = place
    }

    var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

    static func isSpace(_ byte: UInt8) -> Bool { byte.isSpace || byte == 0 }

    static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "/"), UInt8(ascii: "%"):
            true
        default: isSpace(byte)
        }
    }

    /// Skips white space and comments.
    mutating func skipSpace() {
        while let byte {
            if byte == UInt8(ascii: "%") {
                while let next = self.byte, next != 0x0A, next != 0x0D { at += 1 }
            } else if Self.isSpace(byte) {
                at += 1
            } else {
                return
            }
        }
    }

    private func has(_ text: StaticString, at place: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard place >= 0, count <= bytes.count - place else { return false }
        for offset in 0..<count where bytes[place + offset] != text.utf8Start[offset] { return false }
        return true
    }

    /// Skips white space, then `word` if it comes next and a delimiter follows.
    ///
    /// - Returns: Whether the word was there.
    mutating func take(_ word: StaticString) -> Bool {
        skipSpace()
        let end = at + word.utf8CodeUnitCount
        guard has(word, at: at), end >= bytes.count || Self.isDelimiter(bytes[end]) else { return false }
        at = end
        return true
    }

    /// Skips white space and reads an integer. If there is none, returns nil and reads nothing more.
    mutating func integer() -> Int? {
        skipSpace()
        let start = at
        guard let value = number()?.integer else {
            goBack(to: start)
            return nil
        }
        return value
    }

    /// Reads the head of an indirect object, such as `12 0 obj`, and returns the object's number.
    mutating func objectNumber() -> Int? {
        guard let number = integer(), number > 0, let generation = integer(), generation >= 0 else { return nil }
        skipSpace()
        // No delimiter is required, since some writers leave out the space after `obj`.
        guard has("obj", at: at) else { return nil }
        at += 3
        return number
    }

    /// Returns where the data of a stream begins, after its dictionary was read; nil if the dictionary does not belong
    /// to a stream.
    mutating func streamStart() -> Int? {
        skipSpace()
        guard has("stream", at: at) else { return nil }
        at += 6
        if byte == 0x0D { at += 1 }
        if byte == 0x0A { at += 1 }
        return at
    }

    /// Reads a value. Returns nil if there is no valid value, or if it is too deep or too large.
    mutating func value(depth: Int = 0) -> PDFObject? {
        skipSpace()
        values += 1
        guard let byte, depth < Self.maxDepth, values <= Self.maxValues else { return nil }
        switch byte {
        case UInt8(ascii: "/"): return .name(name())
        case UInt8(ascii: "("): return literal().map(PDFObject.string)
        case UInt8(ascii: "["): return array(depth)
        case UInt8(ascii: "<"):
            return has("<<", at: at) ? dictionary(depth) : hexadecimal().map(PDFObject.string)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return numberOrReference()
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): return number()
        default:
            if take("true") || take("false") { return .boolean }
            return take("null") ? .null : nil
        }
    }

    private mutating func array(_ depth: Int) -> PDFObject? {
        at += 1
        var values: [PDFObject] = []
        while true {
            skipSpace()
            if byte == UInt8(ascii: "]") {
                at += 1
                return .array(values)
            }
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
        }
    }

    private mutating func dictionary(_ depth: Int) -> PDFObject? {
        at += 2
        var values: PDFDictionary = [:]
        while true {
            skipSpace()
            if has(">>", at: at) { break }
            guard byte == UInt8(ascii: "/") else { return nil }
            let key = name()
            skipSpace()
            // Some writers leave a key without a value at the end.
            if has(">>", at: at) { break }
            guard let value = value(depth: depth + 1) else { return nil }
            values[key] = value
        }
        at += 2
        return .dictionary(values)
    }

    private mutating func numberOrReference() -> PDFObject? {
        guard let number = number() else { return nil }
        guard let value = number.integer else { return number }
        let end = at
        if let generation = integer(), generation >= 0, take("R") { return .reference(value) }
        goBack(to: end)
        return number
    }

    private mutating func number() -> PDFObject? {
        let isNegative = byte == UInt8(ascii: "-")
        if isNegative || byte == UInt8(ascii: "+") { at += 1 }
        var value = 0
        var digits = 0
        var isWhole = true
        while let byte, byte == UInt8(ascii: ".") || (0x30...0x39).contains(byte) {
            at += 1
            if byte == UInt8(ascii: ".") {
                isWhole = false
            } else {
                digits += 1
                if digits <= 18 { value = value * 10 + Int(byte - 0x30) }
            }
        }
        guard digits > 0 else { return nil }
        // No count or offset has more than 18 digits.
        return isWhole && digits <= 18 ? .integer(isNegative ? -value : value) : .real
    }
}
