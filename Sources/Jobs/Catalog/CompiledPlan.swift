/// A definition or graph definition in the form in which a database enqueues it without a catalog: everything that a
/// ``Planner`` would look up, with the sentences of its refusals.
///
/// U+0001 and the following characters in the sentences stand for parts that are known only when a request is refused.
package struct CompiledPlan: Hashable, Sendable {
    /// The name of the definition or graph definition.
    package let name: String
    /// The plan, an object.
    ///
    /// - `refusal`: why it cannot be used; the other fields are then absent.
    /// - `is_graph`, `nodes`: the jobs, see ``node(_:_:)``. A definition has one, without a name.
    /// - `parameters`: the nodes and fields that they set, by name.
    /// - `field_names`: the names of the parameters or, for a definition, of the fields, in order.
    /// - `fields`, `is_open`, `accepts`, `offers`: of a definition, for its own jobs and for those of graphs. They and
    ///   `field_names` are those of ``kind``, if it is not nil.
    /// - `program`: for a definition of the kind `program`, see ``Definition/compiledProgram``.
    package let json: JSONText
    /// The name of the kind whose ``Catalog/compiledKinds`` completes the plan; nil if it is complete.
    package let kind: String?
}

extension Catalog {
    /// The plans of all definitions and graph definitions, also of those that cannot be used, sorted by name.
    package var compiled: [CompiledPlan] {
        var plans: [String: JSONObject] = [:]
        var kinds: [String: String] = [:]
        for (name, reason) in problemsByName {
            var plan = JSONObject()
            plan.append(
                "refusal",
                JSONText(string: RequestProblem.refusedDefinition(name, job: nil, reason: reason).description))
            plans[name] = plan
        }
        for (name, graph) in graphs { plans[name] = compiled(graph) }
        for (name, entry) in entries {
            let definition = entry.stored.definition
            var plan = compiled(entry)
            if definition.program == nil {
                kinds[name] = definition.kind
            } else {
                for (field, value) in entry.kind.compiled.fields { plan.append(field, value) }
                if let program = definition.compiledProgram { plan.append("program", program) }
            }
            plans[name] = plan
        }
        return plans.sorted { $0.key < $1.key }.map {
            CompiledPlan(name: $0.key, json: $0.value.text, kind: kinds[$0.key])
        }
    }

    /// The fields of the kinds that definitions use, by the kind's name.
    package var compiledKinds: [(name: String, json: JSONText)] {
        let used = Set(entries.values.map(\.stored.definition).filter { $0.program == nil }.map(\.kind))
        return used.sorted().compactMap { name in kinds[name].map { (name, $0.compiled.text) } }
    }

    private func compiled(_ entry: DefinitionEntry) -> JSONObject {
        let name = entry.stored.definition.name
        var plan = JSONObject()
        plan.append("is_graph", JSONText(boolean: false))
        let node = CompiledNode(entry: entry, name: "job \"\(name)\"", label: nil)
        plan.append("nodes", JSONText(elements: [compiled(node)]))
        return plan
    }

    private func compiled(_ graph: GraphDefinition) -> JSONObject {
        var plan = JSONObject()
        plan.append("is_graph", JSONText(boolean: true))
        var parameters = JSONObject()
        for parameter in graph.parameters {
            parameters.append(
                parameter.name,
                JSONText(elements: [parameter.node, parameter.field].map { JSONText(string: $0) }))
        }
        plan.append("parameters", parameters.text)
        plan.append("field_names", JSONText(elements: graph.parameters.map { JSONText(string: $0.name) }))
        let indexes = Dictionary(
            graph.nodes.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        let nodes = graph.nodes.compactMap { node -> JSONText? in
            guard let entry = entries[node.definition] else { return nil }
            let after = node.after.compactMap { edge -> CompiledNode.Edge? in
                guard let index = indexes[edge.node], let kind = entries[graph.nodes[index].definition]?.kind else {
                    return nil
                }
                return .init(index: index, node: edge.node, condition: edge.condition, kind: kind.description)
            }
            return compiled(
                CompiledNode(
                    entry: entry, name: node.name, label: node.name, input: node.input, queue: node.queue,
                    priority: node.priority, after: after))
        }
        plan.append("nodes", JSONText(elements: nodes))
        return plan
    }

    /// - `node`, `definition`, `source`, `kind`, `queue`, `priority`, `input`: of the job. `source` is the name of the
    ///   definition, and `input` a text, so that it stays as it is written.
    /// - `after`, `conditions`: the indexes of the nodes to wait for, and the conditions.
    /// - `label`: how sentences about this job begin.
    /// - `own`: the names of fields in `input` that are not null.
    /// - `missing`: the required fields that the definition lacks.
    /// - `is_incomplete`: whether the job cannot be enqueued without more input.
    private func compiled(_ node: CompiledNode) -> JSONText {
        let definition = node.entry.stored.definition
        var job = JSONObject()
        if let label = node.label { job.append("node", JSONText(string: label)) }
        job.append("definition", JSONText(integer: node.entry.stored.id.rawValue))
        job.append("source", JSONText(string: definition.name))
        job.append("kind", JSONText(string: definition.kind))
        job.append("queue", JSONText(string: node.queue ?? definition.queue))
        job.append("priority", JSONText(integer: (node.priority ?? definition.priority).rawValue))
        if let input = node.input, !(JSONObject(input)?.isEmpty ?? false) {
            job.append("input", JSONText(string: input.string))
        }
        job.append("after", JSONText(elements: node.after.map { JSONText(integer: $0.index) }))
        job.append("conditions", JSONText(elements: node.after.map { JSONText(integer: $0.condition.rawValue) }))
        let label = RequestProblem.badInput(.refused(""), job: node.label).description
        job.append("label", JSONText(string: label))
        let own = node.input.map { node.entry.kind.problems(of: $0).present } ?? []
        job.append("own", JSONText(elements: own.map { JSONText(string: $0) }))
        let missing = node.entry.missing.map { node.missing($0) }
        job.append("missing", JSONText(elements: missing.map(\.json)))
        let isIncomplete = missing.contains { !own.contains($0.field) && $0.problem != nil }
        job.append("is_incomplete", JSONText(boolean: isIncomplete))
        return job.text
    }
}

extension KindEntry {
    fileprivate var compiled: JSONObject {
        var kind = JSONObject()
        var fields = JSONObject()
        for (name, field) in self.fields.sorted(by: { $0.key < $1.key }) {
            fields.append(name, field.compiled(isList: lists.contains(name)))
        }
        kind.append("fields", fields.text)
        kind.append("field_names", JSONText(elements: fieldNames.map { JSONText(string: $0) }))
        kind.append("is_open", JSONText(boolean: isOpen))
        if let accepts = description.accepts { kind.append("accepts", JSONText(string: accepts)) }
        kind.append("offers", JSONText(string: description.offers))
        return kind
    }
}

/// A job of a plan.
private struct CompiledNode {
    struct Edge {
        var index: Int
        var node: String
        var condition: DependencyCondition
        var kind: KindDescription
    }

    /// A required field that the definition lacks.
    struct Missing {
        var field: String
        /// Whether the output of an existing job may supply it.
        var isFillable: Bool
        /// Why the job cannot be enqueued without the field; nil if a dependency supplies it.
        var problem: RequestProblem?
        /// Why the job cannot be enqueued if no existing job supplies the field.
        var unfit: String

        var json: JSONText {
            var object = JSONObject()
            object.append("field", JSONText(string: field))
            object.append("is_fillable", JSONText(boolean: isFillable))
            if let problem {
                object.append("problem", JSONText(string: problem.description))
                if case .badInput = problem { object.append("is_bad_input", JSONText(boolean: true)) }
            }
            object.append("unfit", JSONText(string: unfit))
            return object.text
        }
    }

    var entry: Catalog.DefinitionEntry
    var name: String
    var label: String?
    var input: JSONText?
    var queue: String?
    var priority: Priority?
    var after: [Edge] = []

    func missing(_ field: InputField) -> Missing {
        let isFillable = entry.kind.isFromDependency(field)
        let accepts = isFillable ? entry.kind.description.accepts : nil
        func unfit(_ offers: [GraphProblem.Offer]) -> RequestProblem {
            .badGraph(.doesNotFit(node: name, field: field.name, accepts: accepts, offers: offers))
        }
        var problem: RequestProblem?
        if !isFillable || after.isEmpty {
            problem = .badInput(.missingField(field.name, accepts: accepts), job: label)
        } else if !after.contains(where: { entry.kind.description.accepts(outputOf: $0.kind) }) {
            problem = unfit(after.map { .init(node: $0.node, type: $0.kind.offers) })
        }
        return Missing(
            field: field.name, isFillable: isFillable, problem: problem,
            unfit: unfit([EnqueueWords.offerMarker]).description)
    }
}

extension InputField {
    /// - `shape`, `type`: the shape and its JSON type; no type if every value is accepted.
    /// - `wrong`: the sentence about a value of another type, U+0001.
    /// - `choices`, `not_a_choice`; `schemes`, `not_an_address`: the strings that are accepted, and the sentences.
    /// - `min`, `max`, `out_of_range`: the numbers that are accepted, and the sentence about another value, U+0001.
    fileprivate func compiled(isList: Bool) -> JSONText {
        var object = JSONObject()
        object.append("shape", JSONText(string: shape.rawValue))
        if let type = shape.jsonShape { object.append("type", JSONText(string: type.name)) }
        // No field has the shape null.
        let problem =
            isList
            ? InputProblem.notAList(field: name, found: .null)
            : .wrongShape(field: name, expected: shape, found: .null)
        let wrong = problem.description
        object.append("wrong", JSONText(string: wrong.replacingLast(JSONShape.null.phrase, with: EnqueueWords.first)))
        if shape == .string, let choices {
            object.append("choices", JSONText(elements: choices.map { JSONText(string: $0) }))
            object.append(
                "not_a_choice", JSONText(string: InputProblem.notAChoice(field: name, choices: choices).description))
        }
        if shape == .string, let schemes {
            object.append("schemes", JSONText(elements: schemes.map { JSONText(string: $0) }))
            object.append(
                "not_an_address",
                JSONText(string: InputProblem.notAnAddress(field: name, schemes: schemes).description))
        }
        if [.integer, .size, .duration].contains(shape) {
            if let range {
                object.append("min", JSONText(integer: range.lowerBound))
                object.append("max", JSONText(integer: range.upperBound))
            }
            object.append(
                "out_of_range",
                JSONText(string: InputProblem.outOfRange(self, found: EnqueueWords.first).description))
        }
        return object.text
    }
}

extension String {
    /// A copy in which the end is another one.
    fileprivate func replacingLast(_ end: String, with other: String) -> String {
        precondition(hasSuffix(end), "the sentence does not end with \(end)")
        return dropLast(end.count) + other
    }
}
