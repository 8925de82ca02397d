/// Parses JSON as real pages write it: with comments, trailing commas and semicolons, unescaped control characters and
/// quotes in strings, unquoted words, HTML character references, and CDATA marks around it.
enum LooseJSON {
    /// Returns the consecutive values in `bytes`. Parsing ends at the first error; the value in which it occurs is
    /// returned as far as it was read.
    static func parse(_ bytes: [UInt8]) -> [JSONValue] {
        var bytes = bytes
        if !bytes.contains(UInt8(ascii: "\"")), bytes.firstIndex(of: Array("&quot;".utf8)) != nil {
            bytes = Array(CharacterReferences.decode(String(decoding: bytes, as: UTF8.self)).utf8)
        }
        var parser = LooseJSONParser(bytes, guessesQuotes: false)
        let values = parser.values()
        guard parser.isBroken else { return values }
        var guess = LooseJSONParser(bytes, guessesQuotes: true)
        let guessed = guess.values()
        return guess.isBroken ? values : guessed
    }
}

/// A parser that stops at the first error and keeps what it has read. Depth, number of values and work are bounded.
private struct LooseJSONParser {
    private static let maxDepth = 48
    private static let maxValues = 50_000

    private let bytes: [UInt8]
    /// Whether a quote ends a string only if the following characters are plausible after a string. Other quotes belong
    /// to the string.
    private let guessesQuotes: Bool
    /// Whether an error was found. Nothing is read after it.
    private(set) var isBroken = false
    private var at = 0
    private var count = 0

    init(_ bytes: [UInt8], guessesQuotes: Bool) {
        self.bytes = bytes
        self.guessesQuotes = guessesQuotes
    }

    mutating func values() -> [JSONValue] {
        var values: [JSONValue] = []
        while !isBroken, skipToValue() {
            if let value = value(depth: 0) { values.append(value) }
        }
        return values
    }

    private mutating func broken<T>() -> T? {
        isBroken = true
        return nil
    }

    /// Skips to the next `{` or `[`. Pages put other text before and after JSON: `<!--`, `//<![CDATA[`, semicolons.
    private mutating func skipToValue() -> Bool {
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "{") { return true }
            if bytes[at] == UInt8(ascii: "["), !follows("[CDATA[") { return true }
            at += follows("[CDATA[") ? 7 : 1
        }
        return false
    }

    private func follows(_ text: StaticString) -> Bool {
        at + text.utf8CodeUnitCount <= bytes.count
            && bytes[at..<at + text.utf8CodeUnitCount].elementsEqual(
                UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func skipSpace() {
        while at < bytes.count {
            if bytes[at] <= 0x20 {
                at += 1
            } else if follows("//") {
                while at < bytes.count, bytes[at] != 0x0A { at += 1 }
            } else if follows("/*") {
                at += 2
                while at < bytes.count, !follows("*/") { at += 1 }
                at = min(at + 2, bytes.count)
            } else if follows("\u{A0}") || follows("\u{FEFF}") {
                at += follows("\u{A0}") ? 2 : 3
            } else {
                return
            }
        }
    }

    private mutating func value(depth: Int) -> JSONValue? {
        count += 1
        skipSpace()
        guard depth < Self.maxDepth, count < Self.maxValues, at < bytes.count else { return broken() }
        switch bytes[at] {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return string().map { .string($0) }
        default: return word()
        }
    }

    private mutating func object(depth: Int) -> JSONValue {
        at += 1
        var members: [(name: String, value: JSONValue)] = []
        while !isBroken {
            skipSeparators()
            guard at < bytes.count else { break }
            if bytes[at] == UInt8(ascii: "}") {
                at += 1
                break
            }
            let isQuoted = bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'")
            guard let name = isQuoted ? string() : bareWord() else { break }
            skipSpace()
            guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else {
                isBroken = true
                break
            }
            at += 1
            skipSpace()
            // The value is missing: `"a": ,` or `"a": }`.
            if at < bytes.count, bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: "}") { continue }
            if let value = value(depth: depth + 1) { members.append((name, value)) }
        }
        return .object(members)
    }

    private mutating func array(depth: Int) -> JSONValue {
        at += 1
        var elements: [JSONValue] = []
        while !isBroken {
            skipSeparators()
            guard at < bytes.count else { break }
            if bytes[at] == UInt8(ascii: "]") {
                at += 1
                break
            }
            if let element = value(depth: depth + 1) { elements.append(element) }
        }
        return .array(elements)
    }

    private mutating func skipSeparators() {
        skipSpace()
        while at < bytes.count, bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: ";") {
            at += 1
            skipSpace()
        }
    }

    private mutating func bareWord() -> String? {
        let start = at
        while at < bytes.count, !",[]{}:;\"'".utf8.contains(bytes[at]), bytes[at] > 0x20 { at += 1 }
        return at > start ? String(decoding: bytes[start..<at], as: UTF8.self) : broken()
    }

    private mutating func word() -> JSONValue? {
        guard let text = bareWord() else { return nil }
        switch text {
        case "true", "True": return .bool(true)
        case "false", "False": return .bool(false)
        case "null", "undefined", "None": return .null
        default:
            guard let number = Double(text) else { return .string(text) }
            return number.isFinite ? .number(number) : .null
        }
    }

    /// Whether a string can end before `place`: the text there looks like the end of a member, an element or a name.
    private func canEnd(before place: Int) -> Bool {
        func next(_ start: Int) -> (byte: UInt8, place: Int)? {
            bytes[start...].indices.first { bytes[$0] > 0x20 }.map { (bytes[$0], $0) }
        }
        guard let mark = next(place) else { return true }
        switch mark.byte {
        case UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ";"): return true
        case UInt8(ascii: ","):
            guard let after = next(mark.place + 1) else { return true }
            return "\"'{[]},/-0123456789tfn".utf8.contains(after.byte)
        default: return false
        }
    }

    private mutating func string() -> String? {
        let quote = bytes[at]
        at += 1
        var content: [UInt8] = []
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            if byte == quote, !guessesQuotes || canEnd(before: at) { return String(decoding: content, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\"), at < bytes.count else {
                content.append(byte < 0x20 ? 0x20 : byte)
                continue
            }
            let letter = bytes[at]
            at += 1
            switch letter {
            case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "b"):
                content.append(0x20)
            case UInt8(ascii: "u"): appendUnicode(to: &content)
            default: content.append(letter)
            }
        }
        return broken()
    }

    private mutating func appendUnicode(to content: inout [UInt8]) {
        var units: [UInt16] = []
        repeat {
            if !units.isEmpty { at += 2 }
            guard at + 4 <= bytes.count,
                let unit = UInt16(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
            else { break }
            at += 4
            units.append(unit)
        } while units.count == 1 && units[0] & 0xFC00 == 0xD800 && follows("\\u")
        content.append(contentsOf: String(decoding: units, as: UTF16.self).utf8.filter { $0 != 0 })
    }
}
