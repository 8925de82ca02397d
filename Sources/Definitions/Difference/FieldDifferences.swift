import Jobs

/// The differences between two JSON values, field by field, such as `retry.tries 5 → 8`.
struct FieldDifferences {
    private(set) var texts: [String] = []

    /// Compares two values.
    ///
    /// - Parameter name: The name of the values, which precedes the names of their fields; nil for none.
    init(_ old: JSONText, _ new: JSONText, name: String? = nil) { compare(old, new, name) }

    private mutating func compare(_ old: JSONText?, _ new: JSONText?, _ name: String?) {
        if old?.canonical == new?.canonical { return }
        guard let oldObject = old.flatMap({ JSONObject($0) }), let newObject = new.flatMap({ JSONObject($0) }) else {
            texts.append("\(name.map { $0 + " " } ?? "")\(Self.shown(old)) → \(Self.shown(new))")
            return
        }
        let names = newObject.names + oldObject.names.filter { newObject[$0] == nil }
        for field in names { compare(oldObject[field], newObject[field], name.map { "\($0).\(field)" } ?? field) }
    }

    static func shown(_ text: String?) -> String { shown(text.map { JSONText(string: $0) }) }

    private static func shown(_ json: JSONText?) -> String {
        guard let json else { return "(none)" }
        let text = YAMLText.flow(json)
        return text.count <= 60 ? text : text.prefix(59) + "…"
    }
}
