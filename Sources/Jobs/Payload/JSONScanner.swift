/// Validates JSON by RFC 8259 without building values. ``JSONText/init(checking:limit:)`` lists the points in which it
/// is stricter.
struct JSONScanner {
    private let bytes: [UInt8]
    private(set) var at = 0
    private let maxDepth: Int

    /// - Parameter maxDepth: The maximum depth of nesting. Default: enough for every text that was checked before.
    init(_ bytes: [UInt8], maxDepth: Int = JSONText.maxDepth + JSONText.maxEnvelopeDepth) {
        self.bytes = bytes
        self.maxDepth = maxDepth
    }

    mutating func scanDocument() throws(JSONProblem) {
        try scanValue(depth: 0)
        try expectEnd()
    }

    mutating func expectEnd() throws(JSONProblem) {
        skipSpace()
        if at != bytes.count { throw .malformed(offset: at, expected: "the end") }
    }

    mutating func skipSpace() {
        while at < bytes.count,
            bytes[at] == 0x20 || bytes[at] == 0x0A || bytes[at] == 0x0D || bytes[at] == 0x09
        { at += 1 }
    }

    mutating func scanValue(depth: Int) throws(JSONProblem) {
        if depth > maxDepth { throw .tooDeep(limit: maxDepth) }
        skipSpace()
        guard at < bytes.count else { throw .malformed(offset: at, expected: "a value") }
        switch bytes[at] {
        case UInt8(ascii: "{"): try scanObject(depth: depth)
        case UInt8(ascii: "["): try scanArray(depth: depth)
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "t"): try scanWord("true")
        case UInt8(ascii: "f"): try scanWord("false")
        case UInt8(ascii: "n"): try scanWord("null")
        default: try scanNumber()
        }
    }

    private mutating func scanObject(depth: Int) throws(JSONProblem) {
        try scanMembers(depth: depth) { _, _ in }
    }

    /// Scans an object, starting at its brace, and calls `visit` with each name and the range of its value.
    mutating func scanMembers(depth: Int, _ visit: (String, Range<Int>) -> Void) throws(JSONProblem) {
        at += 1
        skipSpace()
        if take("}") { return }
        var names = SeenNames()
        repeat {
            skipSpace()
            guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else {
                throw .malformed(offset: at, expected: "a name in quotes")
            }
            let start = at
            let name = try scanString()
            if !names.insert(name) { throw .duplicateName(name, offset: start) }
            skipSpace()
            guard take(":") else { throw .malformed(offset: at, expected: "':'") }
            skipSpace()
            let valueStart = at
            try scanValue(depth: depth + 1)
            visit(name, valueStart..<at)
        } while try takeComma(or: "}")
    }

    private mutating func scanArray(depth: Int) throws(JSONProblem) {
        try scanElements(depth: depth) { _ in }
    }

    /// Scans an array, starting at its bracket, and calls `visit` with the range of each element.
    mutating func scanElements(depth: Int, _ visit: (Range<Int>) -> Void) throws(JSONProblem) {
        at += 1
        skipSpace()
        if take("]") { return }
        repeat {
            skipSpace()
            let start = at
            try scanValue(depth: depth + 1)
            visit(start..<at)
        } while try takeComma(or: "]")
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard at < bytes.count, bytes[at] == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    /// - Returns: False if the end of the object or array follows instead.
    private mutating func takeComma(or end: Unicode.Scalar) throws(JSONProblem) -> Bool {
        skipSpace()
        if take(",") { return true }
        guard take(end) else { throw .malformed(offset: at, expected: "',' or '\(end)'") }
        return false
    }

    private mutating func scanWord(_ word: StaticString) throws(JSONProblem) {
        let length = word.utf8CodeUnitCount
        let found =
            at + length <= bytes.count
            && bytes[at..<at + length].elementsEqual(
                UnsafeBufferPointer(start: word.utf8Start, count: length))
        guard found else { throw .malformed(offset: at, expected: "\(word)") }
        at += length
    }

    private mutating func scanDigits() throws(JSONProblem) {
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
        if at == start { throw .malformed(offset: at, expected: "a digit") }
    }

    private mutating func scanNumber() throws(JSONProblem) {
        let start = at
        _ = take("-")
        guard at < bytes.count, (0x30...0x39).contains(bytes[at]) else {
            throw .malformed(offset: start, expected: "a value")
        }
        if !take("0") { try scanDigits() }
        if take(".") { try scanDigits() }
        if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if !take("+") { _ = take("-") }
            try scanDigits()
        }
    }

    /// Validates a string. Plain ASCII, which is the usual case, is not decoded.
    private mutating func skipString() throws(JSONProblem) {
        let start = at
        at = endOfPlainASCII(from: at + 1)
        if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
            at += 1
            return
        }
        at = start
        _ = try scanString()
    }

    /// The index of the first byte that ends the string, is escaped or is not ASCII.
    private func endOfPlainASCII(from start: Int) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            var at = start
            while at < bytes.count {
                let byte = bytes[at]
                if byte &- 0x20 >= 0x60 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
                at += 1
            }
            return at
        }
    }

    /// Returns the string with its escapes decoded, so that two spellings of one name are recognized as equal.
    mutating func scanString() throws(JSONProblem) -> String {
        let start = at
        let end = endOfPlainASCII(from: at + 1)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            at = end + 1
            return String(decoding: bytes[start + 1..<end], as: UTF8.self)
        }
        at += 1
        var content: [UInt8] = []
        while at < bytes.count {
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                guard let string = String(validating: content, as: UTF8.self) else {
                    throw .malformed(offset: start, expected: "a string in UTF-8")
                }
                return string
            case UInt8(ascii: "\\"):
                try scanEscape(into: &content)
            case 0..<0x20:
                throw .malformed(offset: at, expected: "an escape for the control character")
            default:
                content.append(byte)
                at += 1
            }
        }
        throw .malformed(offset: at, expected: "the closing quote of the string at byte \(start)")
    }

    private mutating func scanEscape(into content: inout [UInt8]) throws(JSONProblem) {
        let start = at
        at += 1
        guard at < bytes.count else { throw .malformed(offset: at, expected: "an escape") }
        let letter = bytes[at]
        at += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(letter)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"):
            var code = try scanHex()
            if (0xD800..<0xDC00).contains(code) {
                guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"),
                    bytes[at + 1] == UInt8(ascii: "u")
                else {
                    throw .malformed(offset: start, expected: "the second half of the surrogate pair")
                }
                at += 2
                let low = try scanHex()
                guard (0xDC00..<0xE000).contains(low) else {
                    throw .malformed(offset: start, expected: "the second half of the surrogate pair")
                }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            if code == 0 { throw .nulInString(offset: start) }
            guard let scalar = Unicode.Scalar(code) else {
                throw .malformed(offset: start, expected: "a Unicode scalar")
            }
            content.append(contentsOf: Array(String(Character(scalar)).utf8))
        default:
            throw .malformed(offset: start, expected: "a JSON escape")
        }
    }

    private mutating func scanHex() throws(JSONProblem) -> UInt32 {
        guard at + 4 <= bytes.count else {
            throw .malformed(offset: at, expected: "four hexadecimal digits")
        }
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue, bytes[at] < 0x80 else {
                throw .malformed(offset: at, expected: "four hexadecimal digits")
            }
            code = code << 4 + UInt32(digit)
            at += 1
        }
        return code
    }
}

/// Detects duplicate names. A small number of names is compared without hashing.
private struct SeenNames {
    private var few: [String] = []
    private var many: Set<String> = []

    /// Returns whether the name is new.
    mutating func insert(_ name: String) -> Bool {
        if many.isEmpty {
            if few.contains(name) { return false }
            few.append(name)
            if few.count > 16 { many = Set(few) }
            return true
        }
        return many.insert(name).inserted
    }
}
