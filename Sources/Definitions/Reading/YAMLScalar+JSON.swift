import Jobs
import YAML

/// Converts scalars to JSON. Unquoted scalars follow the core schema of YAML 1.2.
extension YAMLScalar {
    func json(line: Int, path: [String]) throws(DefinitionsProblem) -> JSONText {
        func problem(_ message: String) -> DefinitionsProblem {
            DefinitionsProblem(line: line, path: path, message: message)
        }
        if text.utf8.contains(0) { throw problem("a string contains the character U+0000; remove it") }
        switch tag {
        case nil where isPlain:
            if let value = Self.value(ofPlain: text) { return value }
            throw problem("\(text) is not a JSON number; write a finite number, or put it in quotes")
        case nil, "!", "tag:yaml.org,2002:str": return JSONText(string: text)
        case let tag?: throw problem("the tag \(tag) is not supported; remove it")
        }
    }

    /// The JSON value of an unquoted scalar; nil for infinity and NaN.
    static func value(ofPlain text: String) -> JSONText? {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return JSONText(boolean: true)
        case "false", "False", "FALSE": return JSONText(boolean: false)
        case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
            return nil
        default: return number(text) ?? JSONText(string: text)
        }
    }

    /// The text as a JSON number; nil if it is not a number. The digits are kept if JSON allows them.
    private static func number(_ text: String) -> JSONText? {
        guard let first = text.utf8.first, isDigit(first) || "+-.".utf8.contains(first) else { return nil }
        if text.hasPrefix("0x") { return integer(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return integer(text.dropFirst(2), radix: 8) }
        guard text.utf8.allSatisfy({ isDigit($0) || "+-.eE".utf8.contains($0) }),
            text.utf8.contains(where: isDigit)
        else { return nil }
        do throws(JSONProblem) {
            return try JSONText(checking: Array(text.utf8))
        } catch {
            // These are numbers in YAML but not in JSON: +1, 007, .5, 1.
            if let integer = Int64(text) { return JSONText(integer: integer) }
            return Double(text).flatMap { JSONText(double: $0) }
        }
    }

    private static func integer(_ digits: Substring, radix: Int) -> JSONText? {
        guard let first = digits.utf8.first, first != UInt8(ascii: "-"), first != UInt8(ascii: "+") else { return nil }
        return Int64(digits, radix: radix).map { JSONText(integer: $0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
