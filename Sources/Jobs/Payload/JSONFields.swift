/// Reads the fields of one JSON object strictly. A field that is null counts as absent.
public struct JSONFields {
    /// The path of the object in its document, for messages.
    public let path: [String]
    private let object: JSONObject

    /// Splits an object into its fields.
    ///
    /// - Parameters:
    ///   - path: The path of the object in its document.
    ///   - known: All names that the object may contain.
    ///   - renamed: Former names, each with its current one.
    /// - Throws: ``ShapeProblem`` if the value is not an object, or if it contains another name. The message mentions
    ///   the current name, or suggests the most similar known one.
    public init(
        _ json: JSONText, at path: [String], known: [String], renamed: [String: String] = [:]
    ) throws(ShapeProblem) {
        try self.init(json, at: path)
        try allowOnly(known, renamed: renamed)
    }

    /// Splits an object into its fields, whatever their names are.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not an object.
    public init(_ json: JSONText, at path: [String] = []) throws(ShapeProblem) {
        self.path = path
        guard let object = JSONObject(json) else {
            throw ShapeProblem(path: path, message: "expected an object, found \(json.shape.phrase)")
        }
        self.object = object
    }

    /// Uses an object that was already split.
    package init(_ object: JSONObject) {
        path = []
        self.object = object
    }

    /// Refuses a field with another name. The message mentions the present name, or suggests the most similar known
    /// one.
    package func allowOnly(_ known: [String], renamed: [String: String] = [:]) throws(ShapeProblem) {
        for (name, _) in object.fields where !known.contains(name) {
            throw problem(
                name,
                renamed[name].map { "unknown field \"\(name)\"; it is now called \"\($0)\"" }
                    ?? NearestName.unknown("field", name, among: known, listing: "the fields are"))
        }
    }

    /// Creates a problem at the path of a field.
    public func problem(_ name: String, _ message: String) -> ShapeProblem {
        ShapeProblem(path: path + [name], message: message)
    }

    /// The value of a field; nil if the field is absent or null.
    public subscript(name: String) -> JSONText? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// Returns the value of a required field.
    ///
    /// - Throws: ``ShapeProblem`` if `value` is nil.
    public func required<Field>(_ name: String, _ value: Field?) throws(ShapeProblem) -> Field {
        guard let value else { throw problem(name, "is missing; it is required") }
        return value
    }

    /// Reads a required value of any type, which may be null.
    ///
    /// - Throws: ``ShapeProblem`` if the field is absent.
    public func json(_ name: String) throws(ShapeProblem) -> JSONText { try required(name, object[name]) }

    /// Reads a value of any type, which may be null; nil if the field is absent.
    package func optionalJSON(_ name: String) -> JSONText? { object[name] }

    /// Reads a string; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not a string.
    public func string(_ name: String) throws(ShapeProblem) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.decodedString else {
            let isBare = value.shape == .number || value.shape == .boolean
            throw problem(name, "expected a string, found \(Self.found(value))\(isBare ? "; put it in quotes" : "")")
        }
        return string
    }

    /// Reads a string that must be one of a few words, and returns the value for that word; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not one of the words.
    public func word<Choice>(_ name: String, of words: [(String, Choice)]) throws(ShapeProblem) -> Choice? {
        guard let text = try string(name) else { return nil }
        if let match = words.first(where: { $0.0 == text }) { return match.1 }
        throw problem(
            name, NearestName.unknown("value", text, among: words.map(\.0), listing: "use one of"))
    }

    /// Reads a value; nil if the field is absent.
    ///
    /// - Parameters:
    ///   - expected: What the value must be, such as `a whole number`.
    ///   - read: Returns nil if the value is something else.
    /// - Throws: ``ShapeProblem`` if the value is something else.
    private func value<Field>(
        _ name: String, _ expected: String, _ read: (JSONText) -> Field?
    ) throws(ShapeProblem) -> Field? {
        guard let json = self[name] else { return nil }
        guard let value = read(json) else { throw problem(name, "expected \(expected), found \(Self.found(json))") }
        return value
    }

    /// Reads a whole number; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not a whole number or does not fit.
    public func integer(_ name: String) throws(ShapeProblem) -> Int? {
        try value(name, "a whole number") { $0.integer.flatMap { Int(exactly: $0) } }
    }

    /// Reads a number; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not a number.
    public func double(_ name: String) throws(ShapeProblem) -> Double? { try value(name, "a number", \.double) }

    /// Reads a boolean; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not `true` or `false`.
    public func boolean(_ name: String) throws(ShapeProblem) -> Bool? { try value(name, "true or false", \.boolean) }

    /// Reads a duration as people write it, such as `1h30m`; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not such a duration.
    public func duration(_ name: String) throws(ShapeProblem) -> Duration? {
        guard let value = self[name] else { return nil }
        return try Self.duration(value, at: path + [name])
    }

    static func duration(_ value: JSONText, at path: [String]) throws(ShapeProblem) -> Duration {
        if let text = value.decodedString, let duration = Duration(human: text) { return duration }
        throw ShapeProblem(
            path: path,
            message: "expected a duration such as 250ms, 30s, 5m, 1h30m or 2d, found \(Self.found(value))")
    }

    /// Reads a JSON object as text without the space between its values; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not an object.
    public func objectText(_ name: String) throws(ShapeProblem) -> JSONText? {
        guard let value = self[name] else { return nil }
        guard value.shape == .object else { throw problem(name, "expected an object, found \(value.shape.phrase)") }
        return value.compact
    }

    /// Reads the elements of an array; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not an array.
    public func elements(_ name: String) throws(ShapeProblem) -> [JSONText]? {
        guard let value = self[name] else { return nil }
        guard let elements = value.elements else {
            throw problem(name, "expected a list, found \(value.shape.phrase)\(Self.listRemedy(value))")
        }
        return elements
    }

    /// How to write a short value as a list; empty if it cannot be an element.
    private static func listRemedy(_ value: JSONText) -> String {
        guard value.shape == .string || value.shape == .number, value.bytes.count <= 200 else { return "" }
        let text = value.decodedString ?? value.string
        // YAML needs no quotes around these characters.
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy {
                (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || "/._-".utf8.contains($0)
            }
        return "; write [\(isPlain ? text : value.string)]"
    }

    /// A value as shown in messages: the value itself if it is short, otherwise its shape.
    static func found(_ value: JSONText) -> String {
        switch value.shape {
        case .array, .object: value.shape.phrase
        default: value.bytes.count <= 40 ? value.string : value.shape.phrase
        }
    }
}
