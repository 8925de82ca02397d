import Jobs

/// Writes a JSON object field by field.
struct WireObject {
    private var bytes: [UInt8] = []

    /// Appends an object with the fields that `write` adds.
    static func append(to bytes: inout [UInt8], _ write: (inout WireObject) -> Void) {
        var object = WireObject()
        // The object takes the bytes over, so that they are not copied.
        swap(&object.bytes, &bytes)
        object.bytes.append(UInt8(ascii: "{"))
        write(&object)
        object.bytes.append(UInt8(ascii: "}"))
        swap(&object.bytes, &bytes)
    }

    /// Writes the field, or omits it when there is no value.
    mutating func add(_ name: String, _ value: (some WireValue)?) {
        guard let value else { return }
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        value.appendJSON(to: &bytes)
    }

    /// Writes the fields in order, and omits those without a value.
    mutating func add(_ fields: KeyValuePairs<String, (any WireValue)?>) {
        for (name, value) in fields {
            if let value { add(name, value) }
        }
    }

    /// Writes the fields of another object, whose JSON has no spaces around it.
    mutating func add(fieldsOf json: JSONText) {
        separate()
        bytes.append(contentsOf: json.bytes.dropFirst().dropLast())
    }

    /// Writes the comma between two fields. Only the brace that opens the object can precede the first one.
    private mutating func separate() {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    }
}
