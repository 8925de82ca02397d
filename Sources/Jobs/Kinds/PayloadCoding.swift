import FoundationEssentials

/// How Swift values and JSON become each other: names in order, dates by ISO 8601.
///
/// A kind whose input or output is ``JSONText`` gets and gives the stored bytes as they are.
enum PayloadCoding {
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

    static func decode<Value: Decodable>(_ type: Value.Type, from text: JSONText) throws -> Value {
        if let unread = text as? Value { return unread }
        return try decoder.decode(type, from: Data(text.bytes))
    }

    static func encode(_ value: some Encodable) throws -> JSONText {
        if let written = value as? JSONText { return written }
        if let value = value as? any JSONWritten { return value.json }
        return JSONText(trusted: Array(try encoder.encode(value)))
    }

    /// The typed failure as JSON; nil when it has none.
    static func detail(_ failure: some Encodable) -> JSONText? {
        // Losing this error is harmless: code and message, which people and policies go by, are kept all the same.
        try? encode(failure)
    }

    /// Says what is wrong and where, without repeating the payload.
    static func explain(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "the field \(path(context.codingPath + [key])) is missing"
        case DecodingError.valueNotFound(_, let context): "the field \(path(context.codingPath)) is null"
        case DecodingError.typeMismatch(let type, let context):
            "\(place(context.codingPath)) is not of the type \(nameOfType(type))"
        case DecodingError.dataCorrupted(let context):
            "\(place(context.codingPath)) is refused: \(context.debugDescription)"
        case EncodingError.invalidValue(_, let context):
            "\(place(context.codingPath)) cannot be written: \(context.debugDescription)"
        default: String(describing: error)
        }
    }

    private static func place(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "the whole value" : "the field \(path(keys))"
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        let names = keys.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return "\"\(names.joined(separator: "."))\""
    }
}
