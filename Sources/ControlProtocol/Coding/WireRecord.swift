import Jobs

/// A wire value whose fields are described once, for reading and for writing.
///
/// The description is the initializer, which passes each field through `fields`, in the order of the JSON:
///
///     try self.init(name: fields("name", \.name), summary: fields("summary", \.summary))
///
/// A record is read with ``ReadFields``, which returns the values in the JSON. It is written with ``WrittenFields``,
/// which writes the values of that record and returns them; the copy that the initializer makes of it is dropped.
protocol WireRecord: WireObjectValue {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem)
}

extension WireRecord {
    init(fields: JSONFields) throws(ShapeProblem) {
        var fields = ReadFields<Self>(fields: fields)
        try self.init(&fields)
    }

    func writeFields(to writer: inout JSONWriter) {
        var fields = WrittenFields(record: self)
        // The fields take the writer over, so that its bytes are not copied.
        swap(&fields.writer, &writer)
        _ = try? Self(&fields)  // An existing record is valid, so this does not fail.
        swap(&fields.writer, &writer)
    }
}

/// The fields of a record that is read or written.
protocol RecordFields<Record> {
    associatedtype Record

    /// A field that is omitted when it has no value.
    mutating func optional<Value: WireValue>(_ name: String, _ value: (Record) -> Value?) throws(ShapeProblem) -> Value?
    /// The fields of another record, which the JSON contains in addition to the record's own.
    mutating func part<Part: WireRecord>(_ part: (Record) -> Part) throws(ShapeProblem) -> Part
    /// The fields of a value that parses its own JSON, which the JSON contains in addition to the record's own.
    mutating func part<Part: JSONShaped>(
        _ names: [String], _ part: (Record) -> Part, _ read: (JSONText) throws(ShapeProblem) -> Part
    ) throws(ShapeProblem) -> Part
    /// Refuses all other fields of a request. Answers are not checked, since they may have further fields in later
    /// releases.
    func allowOnly(_ names: String...) throws(ShapeProblem)
}

extension RecordFields {
    /// A field that the JSON always contains. `value` returns nil only for records that do not have the field.
    mutating func required<Value: WireValue>(
        _ name: String, _ value: (Record) -> Value?
    ) throws(ShapeProblem) -> Value {
        guard let value = try optional(name, value) else {
            throw ShapeProblem("is missing; it is required", at: [name])
        }
        return value
    }

    mutating func callAsFunction<Value: WireValue>(
        _ name: String, _ value: (Record) -> Value
    ) throws(ShapeProblem) -> Value { try required(name, value) }

    mutating func callAsFunction<Value: WireValue>(
        _ name: String, _ value: (Record) -> Value?
    ) throws(ShapeProblem) -> Value? { try optional(name, value) }

    /// An array that is omitted when it is empty.
    mutating func list<Element: WireValue>(
        _ name: String, _ elements: (Record) -> [Element]
    ) throws(ShapeProblem) -> [Element] {
        let list = try optional(name) { record in
            let elements = elements(record)
            return elements.isEmpty ? nil : elements
        }
        return list ?? []
    }

    /// A field that follows from others. It is written for people, and its value is ignored when it is read.
    mutating func derived(_ name: String, _ value: (Record) -> some WireValue) { _ = try? optional(name, value) }
}

/// The fields of a record that is read.
private struct ReadFields<Record>: RecordFields {
    let fields: JSONFields

    func optional<Value: WireValue>(_ name: String, _: (Record) -> Value?) throws(ShapeProblem) -> Value? {
        try fields.optional(name)
    }

    func part<Part: WireRecord>(_: (Record) -> Part) throws(ShapeProblem) -> Part { try Part(fields: fields) }

    func part<Part: JSONShaped>(
        _ names: [String], _: (Record) -> Part, _ read: (JSONText) throws(ShapeProblem) -> Part
    ) throws(ShapeProblem) -> Part {
        var part = JSONObject()
        for name in names { part[name] = fields[name] }
        return try read(part.text)
    }

    func allowOnly(_ names: String...) throws(ShapeProblem) { try fields.allowOnly(names) }
}

/// The fields of a record that is written.
private struct WrittenFields<Record>: RecordFields {
    let record: Record
    var writer = JSONWriter()

    mutating func optional<Value: WireValue>(_ name: String, _ value: (Record) -> Value?) -> Value? {
        let value = value(record)
        writer.field(name, value)
        return value
    }

    mutating func part<Part: WireRecord>(_ part: (Record) -> Part) -> Part {
        let part = part(record)
        part.writeFields(to: &writer)
        return part
    }

    mutating func part<Part: JSONShaped>(
        _: [String], _ part: (Record) -> Part, _: (JSONText) throws(ShapeProblem) -> Part
    ) -> Part {
        let part = part(record)
        writer.fields(of: part.json)
        return part
    }

    func allowOnly(_: String...) {}
}
