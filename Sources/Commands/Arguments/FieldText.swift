import Jobs

/// A value of an input field, from the text a person typed.
enum FieldText {
    /// JSON where the text is JSON of the field's shape, else a JSON string of the text.
    ///
    /// - Parameter shape: Nil when it is not known; then any JSON but a string is taken as such.
    static func value(_ text: String, shape: InputField.Shape?) -> JSONText {
        guard let json = json(text) else { return JSONText(string: text) }
        let fits =
            switch shape {
            case nil: json.shape != .string && json.shape != .null
            case .string: json.shape == .string
            case .integer: json.shape == .number && isWhole(json)
            case .number: json.shape == .number
            case .boolean: json.shape == .boolean
            case .object: json.shape == .object
            case .array: json.shape == .array
            }
        return fits ? json : JSONText(string: text)
    }

    /// Whether the field's shape decides what the text means.
    static func isAmbiguous(_ text: String) -> Bool { json(text) != nil }

    private static func json(_ text: String) -> JSONText? {
        // Not JSON is an ordinary answer here: the text is then taken as a string.
        try? JSONText(checking: Array(text.utf8))
    }

    private static func isWhole(_ number: JSONText) -> Bool {
        number.bytes.allSatisfy { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") }
    }
}
