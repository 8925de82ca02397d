import Jobs

extension DefinitionSet: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            kinds: try fields.required("kinds"), queues: try fields.required("queues"),
            definitions: try fields.required("definitions"), graphs: try fields.required("graphs"),
            schedules: try fields.required("schedules"))
    }

    func write(to object: inout WireObject) {
        object.add("kinds", kinds)
        object.add("queues", queues)
        object.add("definitions", definitions)
        object.add("graphs", graphs)
        object.add("schedules", schedules)
    }
}

/// Encoded as the definition's own fields plus `id`, `revision`, `updated_at` and `problem`.
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

/// Encoded as the graph definition's own fields plus `revision`, `updated_at` and `problem`.
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

extension Schedule: WireValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(json: json, at: []) }
    public func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: json.bytes) }
}

/// Encoded as the schedule's own fields plus its revision, its times and its last job or graph.
extension ScheduleRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let problem: String? = try fields.optional("problem")
        // A stored schedule that is invalid has a name, a problem and no times.
        let schedule = try Schedule(
            json: fields.part(Schedule.fieldNames), name: nil, at: [], allowsNoTimes: problem != nil)
        self.init(
            schedule: schedule, revision: try fields.required("revision"),
            updatedAt: try fields.required("updated_at"), after: try fields.required("after"),
            nextAt: try fields.optional("next_at"), pausedAt: try fields.optional("paused_at"),
            lastAt: try fields.optional("last_at"), lastJob: try fields.optional("last_job"),
            lastGraph: try fields.optional("last_graph"), skippedAt: try fields.optional("skipped_at"),
            problem: problem)
    }

    func write(to object: inout WireObject) {
        object.add(fieldsOf: schedule.json)
        object.add("revision", revision)
        object.add("updated_at", updatedAt)
        object.add("after", after)
        object.add("next_at", nextAt)
        object.add("paused_at", pausedAt)
        object.add("last_at", lastAt)
        object.add("last_job", lastJob)
        object.add("last_graph", lastGraph)
        object.add("skipped_at", skippedAt)
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
            range: try fields.optional("range"), schemes: try fields.optional("schemes"),
            isRequired: try fields.required("required"), isFromDependency: try fields.required("from_dependency"),
            summary: try fields.required("summary"))
    }

    func write(to object: inout WireObject) {
        object.add("name", name)
        object.add("shape", shape)
        object.add("choices", choices)
        object.add("range", range)
        object.add("schemes", schemes)
        object.add("required", isRequired)
        object.add("from_dependency", isFromDependency)
        object.add("summary", summary)
    }
}
