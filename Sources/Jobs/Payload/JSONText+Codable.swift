/// A `JSONText` is encoded as the JSON value that it contains, not as a string.
///
/// Coders do not keep the order of names, or numbers beyond `Int64`, `UInt64` and `Double`; decoded names are sorted.
/// Use ``JSONText/bytes`` for text that must not change.
extension JSONText: Codable {
    public init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: AnyName.self) {  // another type is tried next
            var result = JSONObject()
            for name in object.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
                result.append(name.stringValue, try object.decode(JSONText.self, forKey: name))
            }
            self = result.text
        } else if var array = try? decoder.unkeyedContainer() {  // another type is tried next
            var elements: [JSONText] = []
            while !array.isAtEnd { elements.append(try array.decode(JSONText.self)) }
            self.init(elements: elements)
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    /// Decodes a scalar by trying each type. If none fits, decoding the last one throws.
    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONText {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return JSONText(boolean: value) }  // Another type?
        if let value = try? container.decode(String.self) { return JSONText(string: value) }  // Another type?
        if let value = try? container.decode(Int64.self) { return JSONText(integer: value) }  // Another type?
        if let value = try? container.decode(UInt64.self) { return JSONText(integer: value) }  // Another type?
        let value = try container.decode(Double.self)
        guard let text = JSONText(double: value) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "JSON cannot represent the number \(value)")
        }
        return text
    }

    public func encode(to encoder: any Encoder) throws {
        switch shape {
        case .object:
            var container = encoder.container(keyedBy: AnyName.self)
            for (name, value) in (JSONObject(self) ?? JSONObject()).fields {
                try container.encode(value, forKey: AnyName(stringValue: name))
            }
        case .array:
            var container = encoder.unkeyedContainer()
            for element in elements ?? [] { try container.encode(element) }
        case .string:
            var container = encoder.singleValueContainer()
            try container.encode(decodedString ?? "")
        case .boolean:
            var container = encoder.singleValueContainer()
            try container.encode(boolean ?? false)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .number:
            var container = encoder.singleValueContainer()
            if let value = Int64(numberToken) {
                try container.encode(value)
            } else if let value = UInt64(numberToken) {
                try container.encode(value)
            } else if let double {
                try container.encode(double)
            } else {
                throw EncodingError.invalidValue(
                    numberToken,
                    .init(
                        codingPath: encoder.codingPath,
                        debugDescription: "the number is too large to encode"))
            }
        }
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { self.init(stringValue: String(intValue)) }
    }
}
