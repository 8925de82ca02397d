import Jobs

/// A value that is encoded as JSON on the control socket and with `--json`.
///
/// Names are in snake_case, times in ISO 8601 and UTC, durations in whole milliseconds, choices by name, and
/// job numbers as numbers. A field without a value is omitted. Payloads keep their bytes unchanged.
public protocol WireValue {
    /// Parses the value.
    ///
    /// - Throws: `ShapeProblem` with the path of the first field that does not fit.
    init(json: JSONText) throws(ShapeProblem)
    /// Writes the value's JSON.
    func write(to writer: inout JSONWriter)
}

extension WireValue {
    /// The value as JSON.
    public var json: JSONText { JSONWriter.text(write) }
}

/// A wire value that is encoded as a JSON object.
protocol WireObjectValue: WireValue {
    init(fields: JSONFields) throws(ShapeProblem)
    func writeFields(to writer: inout JSONWriter)
}

extension WireObjectValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(fields: JSONFields(json)) }
    public func write(to writer: inout JSONWriter) { writer.object(writeFields) }
}

extension JSONFields {
    /// Reads a value; nil if the field is absent or null.
    func optional<Value: WireValue>(_ name: String, as type: Value.Type = Value.self) throws(ShapeProblem) -> Value? {
        guard let value = self[name] else { return nil }
        do {
            return try Value(json: value)
        } catch {
            throw error.inside(name)
        }
    }

    func required<Value: WireValue>(_ name: String, as type: Value.Type = Value.self) throws(ShapeProblem) -> Value {
        try required(name, optional(name))
    }
}

extension JSONWriter {
    /// Writes a field, or omits it when there is no value.
    mutating func field(_ name: String, _ value: (some WireValue)?) {
        guard let value else { return }
        field(name) { value.write(to: &$0) }
    }

    /// Writes the fields in order, and omits those without a value.
    mutating func fields(_ fields: KeyValuePairs<String, (any WireValue)?>) {
        for (name, value) in fields {
            if let value { field(name, value) }
        }
    }
}
