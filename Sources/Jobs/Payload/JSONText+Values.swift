/// What sort of value a JSON text is.
public enum JSONShape: Hashable, Sendable {
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

    /// As people say it: `a string`.
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
    public var shape: JSONShape { JSONShape(of: bytes[...]) }

    public var isNull: Bool { shape == .null }

    /// Nil when it is another kind of value.
    public var boolean: Bool? {
        guard shape == .boolean else { return nil }
        return bytes.contains(UInt8(ascii: "t"))
    }

    /// The string with its escapes decoded; nil when it is another kind of value.
    public var decodedString: String? {
        guard shape == .string else { return nil }
        var scanner = JSONScanner(bytes)
        scanner.skipSpace()
        return try? scanner.scanString()  // A trusted text cannot fail here; a text that is no JSON has no string.
    }

    /// A whole number, also when written as `2.0` or `2e3`; nil when it is another value or does not fit.
    public var integer: Int64? {
        guard shape == .number else { return nil }
        let token = numberToken
        return Int64(token) ?? Double(token).flatMap { Int64(exactly: $0) }
    }

    /// Nil when it is another kind of value or beyond what a `Double` holds.
    public var double: Double? {
        guard shape == .number, let value = Double(numberToken), value.isFinite else { return nil }
        return value
    }

    var numberToken: String { String(decoding: bytes.drop { $0 <= 0x20 }.prefix { $0 > 0x20 }, as: UTF8.self) }

    /// The elements as the bytes they came in; nil when it is another kind of value.
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

    /// A JSON string.
    public init(string: some StringProtocol) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(string.utf8.count + 2)
        JSONWriter.append(String(string), to: &bytes)
        self.init(trusted: bytes)
    }

    public init(integer: some BinaryInteger) { self.init(trusted: Array(String(integer).utf8)) }
    public init(boolean: Bool) { self.init(trusted: Array((boolean ? "true" : "false").utf8)) }

    /// Nil for infinity and "not a number", which JSON cannot say.
    public init?(double: Double) {
        guard double.isFinite else { return nil }
        if let whole = Int64(exactly: double) {
            self.init(integer: whole)
        } else {
            self.init(trusted: Array("\(double)".utf8))
        }
    }

    public init(elements: some Sequence<JSONText>) {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for element in elements {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: element.bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        self.init(trusted: bytes)
    }

    public static let null = JSONText(trusted: Array("null".utf8))
}
