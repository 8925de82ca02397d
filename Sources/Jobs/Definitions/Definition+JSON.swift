import OperationTypes

/// Written as `{name: upload, kind: upload, summary: …, queue: upload, priority: normal, retry: {…}, timeout: 1h,
/// input: {…}}`.
///
/// Only `kind` is required. `name` is also required unless it is the key in a map. The kind `program` has further fields,
/// see ``ProgramDefinition``.
extension Definition: JSONShaped {
    package static let fieldNames = commonFieldNames + ProgramDefinition.fieldNames
    private static let commonFieldNames = [
        "name", "kind", "summary", "queue", "priority", "retry", "timeout", "input",
    ]

    /// Parses a definition that contains its own name.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: nil, at: path)
    }

    /// Parses a definition.
    ///
    /// - Parameter name: The definition's key in a map; its field `name` must then be absent or the same. Nil outside
    ///   of a map.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: name, at: path, acceptsUnknownTypes: false)
    }

    /// Parses a definition that may be of a later release.
    ///
    /// - Parameter acceptsUnknownTypes: Whether an input field of a type that this release does not know accepts any
    ///   value.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    package init(
        json: JSONText, name: String?, at path: [String], acceptsUnknownTypes: Bool
    ) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path)
        let kind = fields["kind"]?.decodedString
        let isProgram = kind == ProgramDefinition.kind
        if !isProgram, let name = ProgramDefinition.fieldNames.first(where: { fields[$0] != nil }) {
            // A definition with fields of a program and nearly this kind has a mistyped kind.
            if let kind, NearestName.nearest(to: kind, among: [ProgramDefinition.kind]) != nil {
                throw fields.problem("kind", NearestName.unknown("kind", kind, among: [ProgramDefinition.kind]))
            }
            throw fields.problem(name, "is allowed only with kind: \(ProgramDefinition.kind); remove it")
        }
        try fields.allowOnly(isProgram ? Self.fieldNames : Self.commonFieldNames)
        let ownName = try readName(fields, key: name)
        self.init(
            name: ownName, kind: try fields.required("kind", fields.string("kind")),
            summary: try fields.string("summary"), queue: try fields.string("queue") ?? QueueSettings.defaultName,
            priority: try fields.priority("priority") ?? .normal, timeout: try fields.duration("timeout"),
            input: try fields.objectText("input") ?? .emptyObject)
        if let text = fields["retry"] { retry = try RetryPolicy(json: text, at: path + ["retry"]) }
        if isProgram { program = try ProgramDefinition(fields, acceptsUnknownTypes: acceptsUnknownTypes) }
    }

    /// The JSON that ``init(json:at:)`` parses; fields without a value are left out.
    public var json: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        object.append("kind", JSONText(string: kind))
        if let summary { object.append("summary", JSONText(string: summary)) }
        object.append("queue", JSONText(string: queue))
        object.append("priority", JSONText(string: priority.name))
        object.append("retry", retry.json)
        if let timeout { object.append("timeout", JSONText(string: timeout.human)) }
        object.append("input", input)
        program?.append(to: &object)
        return object.text
    }
}

/// Reads the name of an entry, which is either its key in a map or, in a list, its field `name`.
///
/// - Throws: ``ShapeProblem`` if there is no name, or if the key and the field differ.
package func readName(_ fields: JSONFields, key: String?) throws(ShapeProblem) -> String {
    let name = try fields.string("name")
    guard let key else { return try fields.required("name", name) }
    if let name, name != key { throw fields.problem("name", "is \"\(name)\" under the key \"\(key)\"; remove it") }
    return key
}

/// Reads named entries, written either as a map from names to entries or as a list of entries with a field `name`.
///
/// - Parameter read: Parses one entry from its value, its key in a map (nil in a list) and its path.
/// - Throws: ``ShapeProblem`` with the path of the first invalid entry.
package func readNamed<Value>(
    _ json: JSONText, at path: [String],
    _ read: (JSONText, String?, [String]) throws(ShapeProblem) -> Value
) throws(ShapeProblem) -> [Value] {
    var values: [Value] = []
    if let object = JSONObject(json) {
        for (name, value) in object.fields { values.append(try read(value, name, path + [name])) }
    } else if let elements = json.elements {
        for (index, value) in elements.enumerated() { values.append(try read(value, nil, path + ["\(index)"])) }
    } else {
        throw ShapeProblem(
            path: path, message: "expected a map with names as keys, or a list, found \(json.shape.phrase)")
    }
    return values
}
