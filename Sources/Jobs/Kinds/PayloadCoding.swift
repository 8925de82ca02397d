import FoundationEssentials

/// Converts between Swift values and JSON, with sorted names and ISO 8601 dates.
///
/// A kind whose input or output is ``JSONText`` receives and returns the stored bytes unchanged.
package enum PayloadCoding {
    private static let decoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }()
    private static let encoder = {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    package static func decode<Value: Decodable>(_ type: Value.Type, from text: JSONText) throws -> Value {
        if let unread = text as? Value { return unread }
        return try decoder.decode(type, from: Data(text.bytes))
    }

    package static func encode(_ value: some Encodable) throws -> JSONText {
        if let written = value as? JSONText { return written }
        if let value = value as? any JSONWritten { return value.json }
        return JSONText(trusted: Array(try encoder.encode(value)))
    }

    /// The typed failure as JSON; nil if it cannot be encoded.
    static func detail(_ failure: some Encodable) -> JSONText? {
        // Losing this error is harmless: the code and the message, which people and retry policies use, are kept.
        try? encode(failure)
    }

    /// Explains what is wrong and where, without repeating the payload.
    package static func explain(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "the field \(path(context.codingPath + [key])) is missing"
        case DecodingError.valueNotFound(_, let context): "the field \(path(context.codingPath)) is null"
        case DecodingError.typeMismatch(let type, let context):
            "\(subject(context.codingPath)) is not of the type \(nameOfType(type))"
        case DecodingError.dataCorrupted(let context):
            "\(subject(context.codingPath)) is invalid: \(context.debugDescription)"
        case EncodingError.invalidValue(_, let context):
            "\(subject(context.codingPath)) is invalid: \(context.debugDescription)"
        default: String(describing: error)
        }
    }

    private static func subject(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "the whole value" : "the field \(path(keys))"
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        let names = keys.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return "\"\(names.joined(separator: "."))\""
    }
}
