import Jobs

/// Reads the fields of a JSON object by name. A field that is null counts as absent.
struct WireFields {
    private let object: JSONObject

    init(_ json: JSONText) throws(ShapeProblem) {
        guard let object = JSONObject(json) else {
            throw ShapeProblem("expected an object, found \(json.shape.phrase)")
        }
        self.object = object
    }

    /// The field's value; nil when it is absent or null.
    subscript(name: String) -> JSONText? {
        guard let value = object[name], !value.isNull else { return nil }
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
        guard let value: Value = try optional(name) else { throw .missing(name) }
        return value
    }

    /// Returns an object with only these fields, for a type that parses them itself.
    func part(_ names: [String]) -> JSONText {
        var part = JSONObject()
        for name in names { part[name] = self[name] }
        return part.text
    }

    /// Refuses an unknown field and suggests the nearest name. Only requests are checked, since answers may
    /// have further fields in later releases.
    func allowOnly(_ known: [String]) throws(ShapeProblem) {
        for name in object.names where !known.contains(name) { throw .unknownField(name, known: known) }
    }
}
