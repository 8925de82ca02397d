extension Catalog {
    /// Builds a submission's input from words, as on a command line.
    ///
    /// A field with a string, a size or a duration takes its text literally. Numbers, booleans, objects and arrays are parsed as JSON.
    ///
    /// - Parameters:
    ///   - name: A definition, which takes the fields of its kind, in their order, or a graph definition, which takes
    ///     its parameters.
    ///   - arguments: Values by position.
    ///   - sets: Values by name. The name is a field or, for a graph definition, a parameter or `node.field`.
    ///   - base: A JSON object to which the values are added. A field must not be in both.
    /// - Returns: The input as a JSON object; nil if no values were given.
    /// - Throws: ``RequestProblem`` if the name cannot be enqueued or a value does not fit.
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
    /// The text as a JSON value of this shape; nil if it is not one.
    func read(_ text: String) -> JSONText? {
        let isCountOfBytes = self == .size && Int64(text) != nil
        if jsonShape == .string, !isCountOfBytes { return JSONText(string: text) }
        let value: JSONText
        do {
            value = try JSONText(checking: Array(text.utf8))
        } catch {
            return nil
        }
        guard isCountOfBytes || value.shape == jsonShape, self != .integer || value.integer != nil else { return nil }
        return value
    }
}
