import Jobs

extension DefinitionSet: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            kinds: fields("kinds", \.kinds), queues: fields("queues", \.queues),
            definitions: fields("definitions", \.definitions), graphs: fields("graphs", \.graphs),
            schedules: fields("schedules", \.schedules))
    }
}

/// Encoded as the definition's own fields plus `id`, `revision`, `updated_at` and `problem`.
extension StoredDefinition: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let definition = try fields.part(Definition.fieldNames, \.definition) { json throws(ShapeProblem) in
            // The daemon that answers may be of a later release.
            try Definition(json: json, name: nil, at: [], acceptsUnknownTypes: true)
        }
        try self.init(
            id: DefinitionID(fields("id", \.id.rawValue)), revision: fields("revision", \.revision),
            definition: definition, updatedAt: fields("updated_at", \.updatedAt), problem: fields("problem", \.problem))
    }
}

/// Encoded as the graph definition's own fields plus `revision`, `updated_at` and `problem`.
extension StoredGraphDefinition: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let definition = try fields.part(GraphDefinition.fieldNames, \.definition, GraphDefinition.init)
        try self.init(
            revision: fields("revision", \.revision), definition: definition,
            updatedAt: fields("updated_at", \.updatedAt), problem: fields("problem", \.problem))
    }
}

extension Schedule: WireValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(json: json, at: []) }
    public func write(to writer: inout JSONWriter) { writer.value(json.bytes) }
}

/// Encoded as the schedule's own fields plus its revision, its times and its last job or graph.
extension ScheduleRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let schedule = try fields.part(Schedule.fieldNames, \.schedule) { json throws(ShapeProblem) in
            // The record of a stored schedule that is invalid has no times.
            try Schedule(json: json, name: nil, at: [], allowsNoTimes: true)
        }
        try self.init(
            schedule: schedule, revision: fields("revision", \.revision), updatedAt: fields("updated_at", \.updatedAt),
            afterAt: fields("after_at", \.afterAt), nextAt: fields("next_at", \.nextAt),
            pausedAt: fields("paused_at", \.pausedAt), lastAt: fields("last_at", \.lastAt),
            lastJob: fields("last_job", \.lastJob), lastGraph: fields("last_graph", \.lastGraph),
            skippedAt: fields("skipped_at", \.skippedAt), problem: fields("problem", \.problem))
    }
}

extension KindDescription: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            name: fields("name", \.name), summary: fields("summary", \.summary),
            inputType: fields("input_type", \.inputType), outputType: fields("output_type", \.outputType),
            accepts: fields("accepts", \.accepts), offers: fields("offers", \.offers),
            fields: fields("fields", \.fields))
    }
}

extension InputField: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            fields("name", \.name), fields("shape", \.shape), choices: fields("choices", \.choices),
            range: fields("range", \.range), schemes: fields("schemes", \.schemes),
            isRequired: fields("required", \.isRequired),
            isFromDependency: fields("from_dependency", \.isFromDependency), summary: fields("summary", \.summary))
    }
}
