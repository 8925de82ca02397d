/// A JSON value. Objects keep the order in which their members were written.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    /// The first member with this name; nil if there is none or the value is not an object.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The value as a list: the elements of an array, nothing for null, otherwise the value alone.
    var all: [JSONValue] {
        switch self {
        case .array(let elements): elements
        case .null: []
        default: [self]
        }
    }

    /// The value as text: a string, number or Boolean; the first text in an array; the `@value` of an object.
    var text: String? {
        switch self {
        case .string(let text): text
        case .number(let number):
            number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
        case .bool(let value): value ? "true" : "false"
        case .array(let elements): Self.firstText(of: elements)
        case .null: nil
        case .object: self["@value"]?.text
        }
    }
}

extension JSONValue {
    /// Returns the first text among the elements.
    ///
    /// A lazy `compactMap` followed by `first` would evaluate each element twice, and thus deeply nested arrays
    /// exponentially often.
    private static func firstText(of elements: [JSONValue]) -> String? {
        for element in elements {
            if let text = element.text { return text }
        }
        return nil
    }
}

extension JSONValue: Hashable {
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        // The order of members does not count, since a JSON store may change it.
        case (.object(let a), .object(let b)):
            a.count == b.count && a.allSatisfy { name, value in b.contains { $0.name == name && $0.value == value } }
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members.count)
        }
    }
}

extension JSONValue: Codable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Decodes any JSON value. Strings are tried first, since most values are strings and a failed attempt is slow.
    public init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        // Each failure means that the value is of another type, and the last attempt throws.
        if let text = try? single.decode(String.self) {
            self = .string(text)
        } else if let members = try? decoder.container(keyedBy: Name.self) {
            self = .object(
                try members.allKeys.map { ($0.stringValue, try members.decode(JSONValue.self, forKey: $0)) })
        } else if let number = try? single.decode(Double.self) {  // A failure means that it is not a number.
            self = .number(number)
        } else if let value = try? single.decode(Bool.self) {  // A failure means that it is not a Boolean.
            self = .bool(value)
        } else if single.decodeNil() {
            self = .null
        } else {
            self = .array(try single.decode([JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if case .object(let members) = self {
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in members { try container.encode(value, forKey: Name(stringValue: name)) }
            return
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .null, .object: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            if value == value.rounded(), abs(value) < 1e15 {
                try container.encode(Int64(value))
            } else {
                try container.encode(value)
            }
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        }
    }
}
