import Jobs

/// What can be filled in when something is enqueued: the fields of a kind, or the parameters of a graph definition.
struct InputForm {
    struct Field {
        var name: String
        var shape: InputField.Shape?
        /// Whether the value names a file of the person who types.
        var isFile: Bool
    }

    /// In the order of positional arguments.
    var positional: [Field]
    /// Fields that can only be named, as `node.field`.
    var named: [Field]

    /// Nil when no definition or graph definition has the name.
    init?(_ name: String, in set: DefinitionSet) {
        if let stored = set.definitions.first(where: { $0.definition.name == name }) {
            positional = Self.fields(of: stored.definition.name, in: set) ?? []
            named = []
            return
        }
        guard let graph = set.graphs.first(where: { $0.definition.name == name })?.definition else { return nil }
        var fieldsOfNodes: [String: [Field]] = [:]
        for node in graph.nodes { fieldsOfNodes[node.name] = Self.fields(of: node.definition, in: set) }
        positional = graph.parameters.map { parameter in
            let field = fieldsOfNodes[parameter.node]?.first { $0.name == parameter.field }
            return Field(name: parameter.name, shape: field?.shape, isFile: field?.isFile ?? false)
        }
        named = graph.nodes.flatMap { node in
            (fieldsOfNodes[node.name] ?? []).map { field in
                Field(name: "\(node.name).\(field.name)", shape: field.shape, isFile: field.isFile)
            }
        }
    }

    func field(_ name: String) -> Field? {
        positional.first { $0.name == name } ?? named.first { $0.name == name }
    }

    private static func fields(of definition: String, in set: DefinitionSet) -> [Field]? {
        guard let kind = set.definitions.first(where: { $0.definition.name == definition })?.definition.kind,
            let description = set.kinds.first(where: { $0.name == kind })
        else { return nil }
        return description.fields.map {
            Field(name: $0.name, shape: $0.shape, isFile: $0.name == "file" && $0.shape == .string)
        }
    }
}
