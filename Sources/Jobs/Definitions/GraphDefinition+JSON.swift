/// Written as `{name: save-link, summary: …, parameters: {url: unfurl.url}, nodes: {unfurl: {definition: unfurl}, …}}`.
///
/// `parameters` and `nodes` are maps or, in formats that do not keep the order of maps, lists whose elements have a
/// `name`. The JSON written here uses lists. An edge is the name of a node, followed by `:finished` if any outcome of
/// that node is sufficient.
extension GraphDefinition: JSONShaped {
    package static let fieldNames = ["name", "summary", "parameters", "nodes"]

    /// Parses a graph definition that contains its own name.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: nil, at: path)
    }

    /// Parses a graph definition.
    ///
    /// - Parameter name: The graph definition's key in a map; its field `name` must then be absent or the same. Nil
    ///   outside of a map.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path, known: Self.fieldNames)
        let ownName = try readName(fields, key: name)
        let nodes = try readNamed(
            fields.required("nodes", fields["nodes"]), at: path + ["nodes"]
        ) { (json, name, path) throws(ShapeProblem) in try Node(json: json, name: name, at: path) }
        var parameters: [Parameter] = []
        if let text = fields["parameters"] {
            parameters = try readNamed(text, at: path + ["parameters"]) { (json, name, path) throws(ShapeProblem) in
                try Parameter(json: json, name: name, at: path)
            }
        }
        self.init(name: ownName, summary: try fields.string("summary"), nodes: nodes, parameters: parameters)
    }

    /// The JSON that ``init(json:at:)`` parses; fields without a value are left out.
    public var json: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        if let summary { object.append("summary", JSONText(string: summary)) }
        if !parameters.isEmpty { object.append("parameters", JSONText(elements: parameters.map(\.json))) }
        object.append("nodes", JSONText(elements: nodes.map(\.json)))
        return object.text
    }
}

extension GraphDefinition.Node {
    init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        let fields = try JSONFields(
            json, at: path, known: ["name", "definition", "after", "input", "queue", "priority"])
        let ownName = try readName(fields, key: name)
        var after: [GraphDefinition.Edge] = []
        for (index, element) in try (fields.elements("after") ?? []).enumerated() {
            after.append(try GraphDefinition.Edge(json: element, at: path + ["after", "\(index)"]))
        }
        self.init(
            name: ownName, definition: try fields.required("definition", fields.string("definition")), after: after,
            input: try fields.objectText("input"), queue: try fields.string("queue"),
            priority: try fields.priority("priority"))
    }

    var json: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        object.append("definition", JSONText(string: definition))
        if !after.isEmpty {
            object.append("after", JSONText(elements: after.map { JSONText(string: $0.text) }))
        }
        if let input { object.append("input", input) }
        if let queue { object.append("queue", JSONText(string: queue)) }
        if let priority { object.append("priority", JSONText(string: priority.name)) }
        return object.text
    }
}

extension GraphDefinition.Edge {
    init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        guard let text = json.decodedString else {
            throw ShapeProblem(
                path: path,
                message:
                    "expected the name of a node, optionally with \":finished\" after it, found \(JSONFields.found(json))"
            )
        }
        let (node, condition) = try splitCondition(text, at: path)
        self.init(node: node, condition: condition)
    }

    /// The edge as written in a definition: `unfurl` or `unfurl:finished`.
    public var text: String { condition == .succeeded ? node : "\(node):\(condition.name)" }
}

extension GraphDefinition.Parameter {
    init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        var ownName = name
        var field = json
        if name == nil {
            let fields = try JSONFields(json, at: path, known: ["name", "field"])
            ownName = try readName(fields, key: nil)
            field = try fields.required("field", fields["field"])
        }
        guard let text = field.decodedString, let dot = text.firstIndex(of: "."), let ownName else {
            throw ShapeProblem(
                path: path, message: "expected node.field, such as unfurl.url, found \(JSONFields.found(field))")
        }
        self.init(name: ownName, node: String(text[..<dot]), field: String(text[text.index(after: dot)...]))
    }

    var json: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        object.append("field", JSONText(string: "\(node).\(field)"))
        return object.text
    }
}

/// Splits the condition, `:succeeded` or `:finished`, from the text of an edge. Default: succeeded.
func splitCondition(
    _ text: String, at path: [String]
) throws(ShapeProblem) -> (name: String, condition: DependencyCondition) {
    guard let colon = text.lastIndex(of: ":") else { return (text, .succeeded) }
    let word = String(text[text.index(after: colon)...])
    guard let condition = DependencyCondition(name: word) else {
        throw ShapeProblem(
            path: path,
            message: NearestName.unknown(
                "condition", word, among: DependencyCondition.allCases.map(\.name), listing: "use one of"))
    }
    return (String(text[..<colon]), condition)
}
