/// A JSON object parsed only at its top level: the names in order, and the values as unchanged bytes.
public struct JSONObject: Hashable, Sendable {
    /// The fields in order; every name occurs once.
    public private(set) var fields: [(name: String, value: JSONText)]

    /// Creates an object without fields.
    public init() { fields = [] }

    /// Splits an object into its fields; nil if `text` is a value of another type.
    public init?(_ text: JSONText) {
        var fields: [(name: String, value: JSONText)] = []
        let isObject = JSONObject.visit(text) { name, value in
            fields.append((name, JSONText(trusted: Array(value))))
        }
        guard isObject else { return nil }
        self.fields = fields
    }

    /// Checks a message that contains JSON texts, and splits it in the same pass; see
    /// ``JSONText/init(checkingEnvelope:limit:)``.
    ///
    /// - Throws: ``JSONProblem``. A value of another type is malformed.
    package init(checkingEnvelope bytes: [UInt8], limit: Int) throws(JSONProblem) {
        guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
        var fields: [(name: String, value: JSONText)] = []
        var scanner = JSONScanner(bytes)
        scanner.skipSpace()
        guard scanner.at < bytes.count, bytes[scanner.at] == UInt8(ascii: "{") else {
            throw .malformed(offset: scanner.at, expected: "an object")
        }
        try scanner.scanMembers(depth: 0) { name, range in
            fields.append((name, JSONText(trusted: Array(bytes[range]))))
        }
        try scanner.expectEnd()
        self.fields = fields
    }

    /// Calls `body` with each field's name and the bytes of its value, without copying the bytes.
    ///
    /// - Returns: False if `text` is a value of another type.
    static func visit(_ text: JSONText, _ body: (String, ArraySlice<UInt8>) -> Void) -> Bool {
        var scanner = JSONScanner(text.bytes)
        scanner.skipSpace()
        guard scanner.at < text.bytes.count, text.bytes[scanner.at] == UInt8(ascii: "{") else { return false }
        do throws(JSONProblem) {
            try scanner.scanMembers(depth: 0) { name, range in body(name, text.bytes[range]) }
            return true
        } catch {
            return false
        }
    }

    /// Adds a field without looking for its name, which must not be in the object yet.
    package mutating func append(_ name: String, _ value: JSONText) { fields.append((name, value)) }

    /// The names of the fields, in order.
    public var names: [String] { fields.map(\.name) }
    /// Whether the object has no fields.
    public var isEmpty: Bool { fields.isEmpty }

    /// The value of a field. Setting nil removes the field, and setting a new name appends it.
    public subscript(name: String) -> JSONText? {
        get { fields.first { $0.name == name }?.value }
        set {
            guard let index = fields.firstIndex(where: { $0.name == name }) else {
                if let newValue { fields.append((name, newValue)) }
                return
            }
            if let newValue { fields[index].value = newValue } else { fields.remove(at: index) }
        }
    }

    /// A copy of this object in which the fields of `other` replace or extend its own. Nested objects are replaced, not
    /// merged.
    public func overlaid(by other: JSONObject) -> JSONObject {
        var result = self
        if fields.count + other.fields.count < 32 {
            for (name, value) in other.fields { result[name] = value }
            return result
        }
        var indexes = Dictionary(
            fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for (name, value) in other.fields {
            if let index = indexes[name] {
                result.fields[index].value = value
            } else {
                indexes[name] = result.fields.count
                result.append(name, value)
            }
        }
        return result
    }

    /// The object as JSON text, without space between its values.
    public var text: JSONText {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: JSONText(string: field.name).bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: field.value.bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return JSONText(trusted: bytes)
    }

    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
    }

    public func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(field.name)
            hasher.combine(field.value)
        }
    }
}
