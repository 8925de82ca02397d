import Jobs

extension DefinitionSet: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            kinds: try fields.required("kinds"), queues: try fields.required("queues"),
            definitions: try fields.required("definitions"), graphs: try fields.required("graphs"))
    }

    func write(to object: inout WireObject) {
        object.add("kinds", kinds)
        object.add("queues", queues)
        object.add("definitions", definitions)
        object.add("graphs", graphs)
    }
}

/// The definition's own fields, with `id`, `revision`, `updated_at` and `problem` beside them.
extension StoredDefinition: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let own = fields.part(["name", "kind", "summary", "queue", "priority", "retry", "timeout", "input"])
        self.init(
            id: DefinitionID(try fields.required("id")), revision: try fields.required("revision"),
            definition: try Definition(json: own), updatedAt: try fields.required("updated_at"),
            problem: try fields.optional("problem"))
    }

    func write(to object: inout WireObject) {
        object.add(fieldsOf: definition.json)
        object.add("id", id.rawValue)
        object.add("revision", revision)
        object.add("updated_at", updatedAt)
        object.add("problem", problem)
    }
}

/// The graph definition's own fields, with `revision`, `updated_at` and `problem` beside them.
extension StoredGraphDefinition: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            revision: try fields.required("revision"),
            definition: try GraphDefinition(json: fields.part(["name", "summary", "parameters", "nodes"])),
            updatedAt: try fields.required("updated_at"), problem: try fields.optional("problem"))
    }

    func write(to object: inout WireObject) {
        object.add(fieldsOf: definition.json)
        object.add("revision", revision)
        object.add("updated_at", updatedAt)
        object.add("problem", problem)
    }
}

extension KindDescription: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            name: try fields.required("name"), summary: try fields.required("summary"),
            inputType: try fields.required("input_type"), outputType: try fields.required("output_type"),
            accepts: try fields.optional("accepts"), offers: try fields.required("offers"),
            fields: try fields.required("fields"))
    }

    func write(to object: inout WireObject) {
        object.add("name", name)
        object.add("summary", summary)
        object.add("input_type", inputType)
        object.add("output_type", outputType)
        object.add("accepts", accepts)
        object.add("offers", offers)
        object.add("fields", fields)
    }
}

extension InputField: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            try fields.required("name"), try fields.required("shape"), choices: try fields.optional("choices"),
            isRequired: try fields.required("required"), isFromDependency: try fields.required("from_dependency"),
            summary: try fields.required("summary"))
    }

    func write(to object: inout WireObject) {
        object.add("name", name)
        object.add("shape", shape)
        object.add("choices", choices)
        object.add("required", isRequired)
        object.add("from_dependency", isFromDependency)
        object.add("summary", summary)
    }
}
