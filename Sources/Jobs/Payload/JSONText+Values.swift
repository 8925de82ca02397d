/// The type of a JSON value.
public enum JSONShape: Hashable, Sendable {
    /// The types of RFC 8259.
    case null, boolean, number, string, array, object

    init(of bytes: ArraySlice<UInt8>) {
        self =
            switch bytes.first(where: { $0 > 0x20 }) {
            case UInt8(ascii: "{"): .object
            case UInt8(ascii: "["): .array
            case UInt8(ascii: "\""): .string
            case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
            case UInt8(ascii: "n"): .null
            default: .number
            }
    }

    /// The type with its article, as used in messages, such as `a string`.
    public var phrase: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONText {
    /// The type of the value.
    public var shape: JSONShape { JSONShape(of: bytes[...]) }

    /// Whether the value is `null`.
    public var isNull: Bool { shape == .null }

    /// The value as a boolean; nil if it is not one.
    public var boolean: Bool? {
        guard shape == .boolean else { return nil }
        return bytes.contains(UInt8(ascii: "t"))
    }

    /// The string with its escapes decoded; nil if the value is not a string.
    public var decodedString: String? {
        guard shape == .string else { return nil }
        var scanner = JSONScanner(bytes)
        scanner.skipSpace()
        return try? scanner.scanString()  // Fails only if a trusted text is not JSON; then there is no string.
    }

    /// The value as a whole number, even if written as `2.0` or `2e3`; nil if it is not a whole number or does not fit.
    public var integer: Int64? {
        guard shape == .number else { return nil }
        let token = numberToken
        return Int64(token) ?? Double(token).flatMap { Int64(exactly: $0) }
    }

    /// The value as a number; nil if it is not a number or exceeds the range of `Double`.
    public var double: Double? {
        guard shape == .number, let value = Double(numberToken), value.isFinite else { return nil }
        return value
    }

    var numberToken: String { String(decoding: bytes.drop { $0 <= 0x20 }.prefix { $0 > 0x20 }, as: UTF8.self) }

    /// The elements of an array as unchanged bytes; nil if the value is not an array.
    public var elements: [JSONText]? {
        guard shape == .array else { return nil }
        var scanner = JSONScanner(bytes)
        scanner.skipSpace()
        var elements: [JSONText] = []
        do {
            try scanner.scanElements(depth: 0) { elements.append(JSONText(trusted: Array(bytes[$0]))) }
        } catch {
            return nil
        }
        return elements
    }

    /// Encodes a string as a JSON string.
    public init(string: some StringProtocol) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(string.utf8.count + 2)
        JSONWriter.append(String(string), to: &bytes)
        self.init(trusted: bytes)
    }

    /// Encodes a whole number.
    public init(integer: some BinaryInteger) { self.init(trusted: Array(String(integer).utf8)) }
    /// Encodes a boolean.
    public init(boolean: Bool) { self.init(trusted: Array((boolean ? "true" : "false").utf8)) }

    /// Encodes a number; nil for infinity and NaN, which JSON cannot represent.
    public init?(double: Double) {
        guard double.isFinite else { return nil }
        if let whole = Int64(exactly: double) {
            self.init(integer: whole)
        } else {
            self.init(trusted: Array("\(double)".utf8))
        }
    }

    /// Encodes an array of JSON values.
    public init(elements: some Sequence<JSONText>) {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for element in elements {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: element.bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        self.init(trusted: bytes)
    }

    /// The JSON value `null`.
    public static let null = JSONText(trusted: Array("null".utf8))
}
