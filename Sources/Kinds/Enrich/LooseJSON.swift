/// JSON as pages write it: comments, trailing commas and semicolons, raw control characters in strings, CDATA marks around.
enum LooseJSON {
    /// The values that stand one after the other in `bytes`; what follows the first mistake is left out.
    static func parse(_ bytes: [UInt8]) -> [JSONValue] {
        var parser = LooseJSONParser(bytes)
        return parser.values()
    }
}

/// Depth, number of values and work are bounded; never fails, but stops.
private struct LooseJSONParser {
    private struct Stop: Error {}
    private static let maxDepth = 48
    private static let maxValues = 50_000

    private let bytes: [UInt8]
    private var at = 0
    private var count = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func values() -> [JSONValue] {
        var values: [JSONValue] = []
        while skipToValue() {
            // What was read before a mistake is worth having; the mistake ends it.
            guard let value = try? value(depth: 0) else { break }
            values.append(value)
        }
        return values
    }

    /// To the next `{` or `[`, over what pages put around: `<!--`, `//<![CDATA[`, semicolons.
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

    private mutating func value(depth: Int) throws(Stop) -> JSONValue {
        count += 1
        guard depth < Self.maxDepth, count < Self.maxValues else { throw Stop() }
        skipSpace()
        guard at < bytes.count else { throw Stop() }
        switch bytes[at] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string())
        default: return try word()
        }
    }

    private mutating func object(depth: Int) throws(Stop) -> JSONValue {
        at += 1
        var members: [(name: String, value: JSONValue)] = []
        while true {
            skipSeparators()
            guard at < bytes.count else { return .object(members) }
            if bytes[at] == UInt8(ascii: "}") {
                at += 1
                return .object(members)
            }
            guard bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") else { throw Stop() }
            let name = try string()
            skipSpace()
            guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { throw Stop() }
            at += 1
            skipSpace()
            // `"a": ,` and `"a": }`
            if at < bytes.count, bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: "}") { continue }
            members.append((name, try value(depth: depth + 1)))
        }
    }

    private mutating func array(depth: Int) throws(Stop) -> JSONValue {
        at += 1
        var elements: [JSONValue] = []
        while true {
            skipSeparators()
            guard at < bytes.count else { return .array(elements) }
            if bytes[at] == UInt8(ascii: "]") {
                at += 1
                return .array(elements)
            }
            elements.append(try value(depth: depth + 1))
        }
    }

    private mutating func skipSeparators() {
        skipSpace()
        while at < bytes.count, bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: ";") {
            at += 1
            skipSpace()
        }
    }

    private mutating func word() throws(Stop) -> JSONValue {
        let start = at
        while at < bytes.count, !",]}:;".utf8.contains(bytes[at]), bytes[at] > 0x20 { at += 1 }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        switch text {
        case "true", "True": return .bool(true)
        case "false", "False": return .bool(false)
        case "null", "undefined", "None": return .null
        default:
            guard let number = Double(text), number.isFinite else { throw Stop() }
            return .number(number)
        }
    }

    private mutating func string() throws(Stop) -> String {
        let quote = bytes[at]
        at += 1
        var content: [UInt8] = []
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            if byte == quote { return String(decoding: content, as: UTF8.self) }
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
        throw Stop()
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
