extension Catalog {
    /// Puts together a submission's input from words, as on a command line.
    ///
    /// - Parameters:
    ///   - name: A definition, whose kind's fields are taken in their order, or a graph definition, whose parameters are.
    ///   - arguments: Values by position.
    ///   - sets: Values by name: a field; for a graph definition a parameter or `node.field`.
    ///   - base: A JSON object that the others add to; giving a field in both is refused.
    /// - Returns: Nil when nothing was given. Strings are taken as they are, numbers and booleans read, objects and
    ///   arrays read as JSON.
    public func input(
        for name: String, arguments: [String], sets: [(name: String, value: String)], base: JSONText? = nil
    ) throws(RequestProblem) -> JSONText? {
        let takes = try taken(by: name)
        if arguments.count > takes.positional.count {
            throw .tooManyArguments(given: arguments.count, takes: takes.positional)
        }
        if arguments.isEmpty && sets.isEmpty { return base }
        var input = JSONObject()
        if let base {
            guard let object = JSONObject(base) else { throw .badInput(.notAnObject(found: base.shape), job: nil) }
            input = object
        }
        for (name, text) in Array(zip(takes.positional, arguments)) + sets.map({ ($0.name, $0.value) }) {
            guard let field = takes.fields[name] else { throw takes.unknown(name) }
            if input[name] != nil { throw .givenTwice(name) }
            guard let value = field.shape.read(text) else { throw .badArgument(name, expected: field.shape) }
            input[name] = value
        }
        return input.text
    }

    private struct Taken {
        let positional: [String]
        let fields: [String: InputField]
        let unknown: (String) -> RequestProblem
    }

    private func taken(by name: String) throws(RequestProblem) -> Taken {
        if let kind = entries[name]?.kind {
            return Taken(positional: kind.fieldNames, fields: kind.fields) {
                .badInput(.unknownField($0, known: kind.fieldNames), job: nil)
            }
        }
        if let graph = graphs[name] {
            let known = parameterNames(of: graph)
            return Taken(
                positional: graph.parameters.map(\.name),
                fields: targets(of: graph).compactMapValues { $0.kind.fields[$0.field] }
            ) { .unknownParameter($0, graph: name, known: known) }
        }
        if let reason = problemsByName[name] { throw .refusedDefinition(name, job: nil, reason: reason) }
        throw .unknownDefinition(name, job: nil, known: names)
    }
}

extension InputField.Shape {
    /// Nil when the text is no value of this shape.
    func read(_ text: String) -> JSONText? {
        if self == .string { return JSONText(string: text) }
        let value: JSONText
        do {
            value = try JSONText(checking: Array(text.utf8))
        } catch {
            return nil
        }
        guard value.shape == jsonShape, self != .integer || value.integer != nil else { return nil }
        return value
    }
}
