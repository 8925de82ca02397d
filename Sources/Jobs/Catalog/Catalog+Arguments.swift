extension Catalog {
    /// Builds a submission's input from words, as on a command line.
    ///
    /// A field with a string, a size or a duration takes its text literally. Numbers, booleans, objects and arrays are parsed as JSON.
    /// A field that is a list of strings takes several values, in their order. Each is a string, or a list of strings in JSON. If
    /// it is the last field by position, it takes all remaining arguments.
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
        var names = takes.positional
        if arguments.count > names.count {
            guard let last = names.last, takes.lists.contains(last) else {
                throw .tooManyArguments(given: arguments.count, takes: names)
            }
            names += Array(repeating: last, count: arguments.count - names.count)
        }
        if arguments.isEmpty && sets.isEmpty { return base }
        var input = JSONObject()
        if let base {
            guard let object = JSONObject(base) else { throw .badInput(.notAnObject(found: base.shape), job: nil) }
            input = object
        }
        var lists: [String: [JSONText]] = [:]
        for (name, text) in Array(zip(names, arguments)) + sets.map({ ($0.name, $0.value) }) {
            guard let field = takes.fields[name] else { throw takes.unknown(name) }
            if takes.lists.contains(name), input[name] == nil || lists[name] != nil {
                lists[name, default: []] += Self.strings(text)
                input[name] = JSONText(elements: lists[name] ?? [])
                continue
            }
            if input[name] != nil { throw .givenTwice(name) }
            guard let value = field.shape.read(text) else { throw .badArgument(name, expected: field.shape) }
            input[name] = value
        }
        return input.text
    }

    /// The strings that one argument adds to a list: the elements of a list of strings in JSON, or the text itself.
    private static func strings(_ text: String) -> [JSONText] {
        // Any text that is not JSON is one string.
        if text.hasPrefix("["), let elements = (try? JSONText(checking: Array(text.utf8)))?.elements,
            elements.allSatisfy({ $0.shape == .string })
        {
            return elements
        }
        return [JSONText(string: text)]
    }

    private struct Taken {
        let positional: [String]
        let fields: [String: InputField]
        /// The fields that are lists of strings.
        let lists: Set<String>
        let unknown: (String) -> RequestProblem
    }

    private func taken(by name: String) throws(RequestProblem) -> Taken {
        if let kind = entries[name]?.kind {
            return Taken(positional: kind.fieldNames, fields: kind.fields, lists: kind.lists) {
                .badInput(.unknownField($0, known: kind.fieldNames), job: nil)
            }
        }
        if let graph = graphs[name] {
            let known = parameterNames(of: graph)
            let targets = targets(of: graph)
            return Taken(
                positional: graph.parameters.map(\.name),
                fields: targets.compactMapValues { $0.kind.fields[$0.field] },
                lists: Set(targets.filter { $0.value.kind.lists.contains($0.value.field) }.keys)
            ) { .unknownParameter($0, graph: name, known: known) }
        }
        if let reason = problemsByName[name] { throw .refusedDefinition(name, job: nil, reason: reason) }
        throw .unknownDefinition(name, job: nil, known: names)
    }
}

extension InputField.Shape {
    /// The text as a JSON value of this shape; nil if it is not one.
    func read(_ text: String) -> JSONText? {
        if self == .any {
            // A list or an object is recognized; other text may be of any type, most often a string.
            let value = try? JSONText(checking: Array(text.utf8))
            return value.flatMap { [.array, .object].contains($0.shape) ? $0 : nil } ?? JSONText(string: text)
        }
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
