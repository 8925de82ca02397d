extension Catalog {
    /// An input field of a node that a submission of a graph definition must give.
    public struct NeededField: Hashable, Sendable {
        /// The name of the node.
        public let node: String
        /// The name of the field.
        public let field: String
        /// The name of the field's type, as a definition writes it.
        public let type: String
        /// The meaning of the field for people.
        public let summary: String
    }

    /// The input fields that the nodes of a graph definition still need: required fields that have no value, are no
    /// parameter, and come from no dependency. Empty if the graph definition cannot be used.
    public func neededFields(ofGraph name: String) -> [NeededField] {
        guard let graph = graphs[name] else { return [] }
        let parameters = Set(graph.parameters.map { "\($0.node).\($0.field)" })
        return graph.nodes.flatMap { node -> [NeededField] in
            guard let entry = entries[node.definition] else { return [] }
            let given = node.input.flatMap(JSONObject.init)
            return entry.missing.filter { field in
                (given?[field.name]?.isNull ?? true) && !parameters.contains("\(node.name).\(field.name)")
                    && (node.after.isEmpty || !entry.kind.isFromDependency(field))
            }.map { field in
                NeededField(
                    node: node.name, field: field.name,
                    type: entry.kind.lists.contains(field.name) ? ProgramField.list : field.shape.rawValue,
                    summary: field.summary)
            }
        }
    }

    /// The words by which a command line gives all fields that are needed, such as `FILE` or `node.field=VALUE`. A word for a
    /// list ends with `…`. Empty if none is needed.
    public func usage(of name: String) -> [String] {
        if let kind = entries[name]?.kind, let missing = entries[name]?.missing {
            let names = kind.fieldNames
            guard let last = names.lastIndex(where: { name in missing.contains { $0.name == name } }) else { return [] }
            return names[...last].map { Self.word(for: $0, isList: kind.lists.contains($0)) }
        }
        guard let graph = graphs[name] else { return [] }
        let targets = targets(of: graph)
        let parameters = graph.parameters.map { parameter in
            Self.word(
                for: parameter.name,
                isList: targets[parameter.name]?.kind.lists.contains(parameter.field) ?? false)
        }
        return parameters + neededFields(ofGraph: name).map { "\($0.node).\($0.field)=VALUE" }
    }

    private static func word(for field: String, isList: Bool) -> String { field.uppercased() + (isList ? "…" : "") }
}
