import OperationTypes

/// `{name: upload, kind: upload, summary: …, queue: upload, priority: normal, retry: {…}, timeout: 1h, input: {…}}`;
/// only `kind`, and `name` where it is not the key in a map, must be there.
extension Definition: JSONShaped {
    static let fieldNames = ["name", "kind", "summary", "queue", "priority", "retry", "timeout", "input"]

    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: nil, at: path)
    }

    /// - Parameter name: The name it has in a map; it then may not say another one itself.
    public init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path, known: Self.fieldNames)
        let ownName = try readName(fields, key: name)
        self.init(
            name: ownName, kind: try fields.required("kind", fields.string("kind")),
            summary: try fields.string("summary"), queue: try fields.string("queue") ?? QueueSettings.defaultName,
            priority: try fields.priority("priority") ?? .normal, timeout: try fields.duration("timeout"),
            input: try fields.objectText("input") ?? .emptyObject)
        if let text = fields["retry"] { retry = try RetryPolicy(json: text, at: path + ["retry"]) }
    }

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
        return object.text
    }
}

/// The name of something that stands in a map under its name, or in a list with a field `name`.
package func readName(_ fields: JSONFields, key: String?) throws(ShapeProblem) -> String {
    let name = try fields.string("name")
    guard let key else { return try fields.required("name", name) }
    if let name, name != key { throw fields.problem("name", "is \"\(name)\" under the key \"\(key)\"; remove it") }
    return key
}

/// Things with names, written as a map from name to thing or as a list of things that say their name.
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
            path: path, message: "expected a map from names, or a list, found \(json.shape.phrase)")
    }
    return values
}
