import Jobs

/// Reads the fields of a JSON object by name.
struct WireFields {
    private let values: [String: JSONText]
    private let names: [String]

    init(_ json: JSONText) throws(ShapeProblem) {
        guard let object = JSONObject(json) else {
            throw ShapeProblem("expected an object, found \(json.shape.phrase)")
        }
        names = object.names
        values = Dictionary(object.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The field's value; nil when it is absent or null.
    subscript(name: String) -> JSONText? {
        guard let value = values[name], !value.isNull else { return nil }
        return value
    }

    func optional<Value: WireValue>(_ name: String, as type: Value.Type = Value.self) throws(ShapeProblem) -> Value? {
        guard let value = self[name] else { return nil }
        do {
            return try Value(json: value)
        } catch {
            throw error.inside(name)
        }
    }

    func required<Value: WireValue>(_ name: String, as type: Value.Type = Value.self) throws(ShapeProblem) -> Value {
        guard let value: Value = try optional(name) else {
            throw ShapeProblem("is missing; it is required", at: [name])
        }
        return value
    }

    /// Returns the field's JSON with its bytes unchanged; nil when it is absent or null.
    func payload(_ name: String) -> JSONText? { self[name] }

    /// Returns an object with only these fields, for a type that parses them itself.
    func part(_ names: [String]) -> JSONText {
        var object = JSONObject()
        for name in names { object[name] = self[name] }
        return object.text
    }

    /// Refuses an unknown field and suggests the nearest name. Only requests are checked, since answers may
    /// have further fields in later releases.
    func allowOnly(_ known: String...) throws(ShapeProblem) {
        for name in names where !known.contains(name) { throw .unknownField(name, known: known) }
    }
}
