import Jobs

/// Writes JSON values in the flow style of YAML, with quotes only where they are needed.
enum YAMLText {
    static func flow(_ json: JSONText) -> String {
        switch json.shape {
        case .object:
            let members = (JSONObject(json) ?? JSONObject()).fields.map { "\(name($0.name)): \(flow($0.value))" }
            return "{" + members.joined(separator: ", ") + "}"
        case .array: return "[" + (json.elements ?? []).map(flow).joined(separator: ", ") + "]"
        case .string: return string(json.decodedString ?? "")
        case .boolean, .number, .null: return json.compact.string
        }
    }

    /// The text without quotes, if every YAML 1.1 or 1.2 parser reads it as the same string; otherwise quoted.
    static func string(_ text: String) -> String {
        isPlain(text) && !wordsOfOlderYAML.contains(text.lowercased()) && !isNumberLike(text) ? text : quoted(text)
    }

    /// The text as a name in a map. It needs fewer quotes, because a name is always text.
    static func name(_ text: String) -> String { isPlain(text) ? text : quoted(text) }

    private static let wordsOfOlderYAML: Set<String> = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]

    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last, isWord(first) || first == UInt8(ascii: "/"),
            last != UInt8(ascii: ":"), last != UInt8(ascii: " ")
        else { return false }
        var previous: UInt8 = 0
        for byte in text.utf8 {
            let isPunctuation = "._/+@- :;".utf8.contains(byte)
            guard isWord(byte) || isPunctuation, !(previous == UInt8(ascii: ":") && byte == UInt8(ascii: " ")) else {
                return false
            }
            previous = byte
        }
        return true
    }

    /// Whether a parser could read the text as a number or a date. Of the texts that begin with a digit, only durations
    /// such as `1h30m` are safe.
    private static func isNumberLike(_ text: String) -> Bool {
        guard let first = text.utf8.first, (0x30...0x39).contains(first) else { return false }
        return Duration(human: text) == nil
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "_")
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: result += "\\\""
            case 0x5C: result += "\\\\"
            case 0x0A: result += "\\n"
            case 0x0D: result += "\\r"
            case 0x09: result += "\\t"
            case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...:
                result.unicodeScalars.append(scalar)
            default:
                // These are the characters that libyaml accepts only as escapes, and the line breaks of YAML.
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return result + "\""
    }
}
