import Jobs

/// Writes a JSON object field by field.
struct WireObject {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// Writes the field, or omits it when there is no value.
    mutating func add(_ name: StaticString, _ value: (some WireValue)?) {
        guard let value else { return }
        begin(name)
        value.appendJSON(to: &bytes)
    }

    /// Writes a payload with its bytes unchanged.
    mutating func add(payload name: StaticString, _ value: JSONText?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: value.bytes)
    }

    /// Writes the fields of another object after the fields written so far.
    mutating func add(fieldsOf json: JSONText) {
        guard let other = JSONObject(json) else { return }
        for (name, value) in other.fields {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: JSONText(string: name).bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: value.bytes)
        }
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    func append(to target: inout [UInt8]) {
        target.append(contentsOf: bytes)
        target.append(UInt8(ascii: "}"))
    }
}
