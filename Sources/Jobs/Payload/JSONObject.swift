/// A JSON object split at its top level: names in order, values as the bytes they came in.
public struct JSONObject: Hashable, Sendable {
    public private(set) var fields: [(name: String, value: JSONText)]

    public init() { fields = [] }

    /// Nil when `text` is another kind of value.
    public init?(_ text: JSONText) {
        var fields: [(name: String, value: JSONText)] = []
        let isObject = JSONObject.visit(text) { name, value in
            fields.append((name, JSONText(trusted: Array(value))))
        }
        guard isObject else { return nil }
        self.fields = fields
    }

    /// Hands out each field with the bytes of its value, copying none. False when `text` is another kind of value.
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

    /// Adds a field whose name is known to be new, without looking for it.
    mutating func append(_ name: String, _ value: JSONText) { fields.append((name, value)) }

    public var names: [String] { fields.map(\.name) }
    public var isEmpty: Bool { fields.isEmpty }

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

    /// This object with the fields of `other` over its own; whole fields, not merged within.
    public func overlaid(by other: JSONObject) -> JSONObject {
        var result = self
        if fields.count + other.fields.count < 32 {
            for (name, value) in other.fields { result[name] = value }
            return result
        }
        var places = Dictionary(
            fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for (name, value) in other.fields {
            if let place = places[name] {
                result.fields[place].value = value
            } else {
                places[name] = result.fields.count
                result.append(name, value)
            }
        }
        return result
    }

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
