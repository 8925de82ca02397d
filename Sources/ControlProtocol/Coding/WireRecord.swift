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
    init(fields: WireFields) throws(ShapeProblem) {
        var fields = ReadFields<Self>(fields: fields)
        try self.init(&fields)
    }

    func write(to object: inout WireObject) {
        var fields = WrittenFields(record: self)
        // The fields take the object over, so that its bytes are not copied.
        swap(&fields.object, &object)
        _ = try? Self(&fields)  // The record itself fulfils its own conditions.
        swap(&fields.object, &object)
    }
}

/// The fields of a record that is read or written.
protocol RecordFields<Record> {
    associatedtype Record

    /// A field that the JSON always contains. `value` returns nil only for records that do not have the field.
    mutating func required<Value: WireValue>(_ name: String, _ value: (Record) -> Value?) throws(ShapeProblem) -> Value
    /// A field that is omitted when it has no value.
    mutating func optional<Value: WireValue>(_ name: String, _ value: (Record) -> Value?) throws(ShapeProblem) -> Value?
    /// The fields of another record, which the JSON contains beside the record's own.
    mutating func part<Part: WireRecord>(_ part: (Record) -> Part) throws(ShapeProblem) -> Part
    /// The fields of a value that parses its own JSON, which the JSON contains beside the record's own.
    mutating func part<Part: JSONShaped>(
        _ names: [String], _ part: (Record) -> Part, _ read: (JSONText) throws(ShapeProblem) -> Part
    ) throws(ShapeProblem) -> Part
    /// A field that follows from others. It is written for people and not read.
    mutating func derived(_ name: String, _ value: (Record) -> some WireValue)
    /// Refuses all other fields of a request; see ``WireFields/allowOnly(_:)``.
    func allowOnly(_ names: String...) throws(ShapeProblem)
}

extension RecordFields {
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
}

/// The fields of a record that is read.
struct ReadFields<Record>: RecordFields {
    let fields: WireFields

    func required<Value: WireValue>(_ name: String, _: (Record) -> Value?) throws(ShapeProblem) -> Value {
        try fields.required(name)
    }

    func optional<Value: WireValue>(_ name: String, _: (Record) -> Value?) throws(ShapeProblem) -> Value? {
        try fields.optional(name)
    }

    func part<Part: WireRecord>(_: (Record) -> Part) throws(ShapeProblem) -> Part { try Part(fields: fields) }

    func part<Part: JSONShaped>(
        _ names: [String], _: (Record) -> Part, _ read: (JSONText) throws(ShapeProblem) -> Part
    ) throws(ShapeProblem) -> Part { try read(fields.part(names)) }

    func derived(_: String, _: (Record) -> some WireValue) {}

    func allowOnly(_ names: String...) throws(ShapeProblem) { try fields.allowOnly(names) }
}

/// The fields of a record that is written.
struct WrittenFields<Record>: RecordFields {
    let record: Record
    var object = WireObject()

    mutating func required<Value: WireValue>(
        _ name: String, _ value: (Record) -> Value?
    ) throws(ShapeProblem) -> Value {
        guard let value = optional(name, value) else { throw .missing(name) }
        return value
    }

    mutating func optional<Value: WireValue>(_ name: String, _ value: (Record) -> Value?) -> Value? {
        let value = value(record)
        object.add(name, value)
        return value
    }

    mutating func part<Part: WireRecord>(_ part: (Record) -> Part) -> Part {
        let part = part(record)
        part.write(to: &object)
        return part
    }

    mutating func part<Part: JSONShaped>(
        _: [String], _ part: (Record) -> Part, _: (JSONText) throws(ShapeProblem) -> Part
    ) -> Part {
        let part = part(record)
        object.add(fieldsOf: part.json)
        return part
    }

    mutating func derived(_ name: String, _ value: (Record) -> some WireValue) { object.add(name, value(record)) }

    func allowOnly(_: String...) {}
}
