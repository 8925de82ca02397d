import Jobs

extension DefinitionDocument {
    /// Writes all definitions, in order of name, as a document that ``parse(_:)`` reads back to the same definitions.
    /// It includes definitions that cannot be used now. If the stored form of a definition is invalid, only a comment
    /// names it.
    public static func export(_ definitions: DefinitionSet) -> String {
        let queues = definitions.queues.map { queue in
            let perDaemon = queue.limitPerDaemon.map { ", limit_per_daemon: \($0)" } ?? ""
            return (
                queue.name,
                ["  \(YAMLText.name(queue.name)): {limit: \(queue.limit)\(perDaemon), weight: \(queue.weight)}"]
            )
        }
        let document =
            section("queues", queues)
            + section("definitions", definitions.definitions.map { entry($0.definition, $0.unreadable) })
            + section("graphs", definitions.graphs.map { entry($0.definition, $0.unreadable) })
            + section("schedules", definitions.schedules.map { ($0.name, lines($0)) })
        if document.isEmpty { return "{}\n" }
        return document.drop { $0.isEmpty }.joined(separator: "\n") + "\n"
    }

    private static func entry(_ definition: Definition, _ unreadable: String?) -> (String, [String]) {
        (definition.name, unreadable.map { leftOut(definition.name, $0) } ?? lines(definition))
    }

    private static func entry(_ graph: GraphDefinition, _ unreadable: String?) -> (String, [String]) {
        (graph.name, unreadable.map { leftOut(graph.name, $0) } ?? lines(graph))
    }

    private static func section(_ title: String, _ entries: [(name: String, lines: [String])]) -> [String] {
        entries.isEmpty ? [] : ["", "\(title):"] + entries.sorted { $0.name < $1.name }.flatMap(\.lines)
    }

    private static func leftOut(_ name: String, _ reason: String) -> [String] {
        ["  # Omitted, because the stored definition is unreadable: \(YAMLText.name(name)) \(YAMLText.string(reason))"]
    }

    private static func lines(_ definition: Definition) -> [String] {
        var lines = fields(
            of: definition.name, definition.json,
            ["kind", "summary"] + ProgramDefinition.fieldNames + ["queue", "priority", "timeout", "retry"],
            defaults: [
                "priority": JSONText(string: Priority.normal.name),
                "stdin": JSONText(string: ProgramDefinition.StandardInput.json.rawValue),
                "result": JSONText(string: ProgramDefinition.ResultForm.none.rawValue),
            ])
        let fields = (JSONObject(definition.input) ?? JSONObject()).fields
        if !fields.isEmpty {
            lines.append("    input:")
            lines += fields.map { "      \(YAMLText.name($0.name)): \(YAMLText.flow($0.value))" }
        }
        return lines
    }

    private static func lines(_ schedule: Schedule) -> [String] {
        fields(
            of: schedule.name, schedule.json,
            ["summary", "calendar", "definition", "input", "queue", "priority", "persistent", "overlap"],
            defaults: [
                "persistent": JSONText(boolean: false), "overlap": JSONText(string: Schedule.Overlap.skip.rawValue),
            ])
    }

    private static func lines(_ graph: GraphDefinition) -> [String] {
        var lines = fields(of: graph.name, graph.json, ["summary"])
        var parameters = JSONObject()
        for parameter in graph.parameters {
            parameters[parameter.name] = JSONText(string: "\(parameter.node).\(parameter.field)")
        }
        if !parameters.isEmpty { lines.append("    parameters: \(YAMLText.flow(parameters.text))") }
        if graph.nodes.isEmpty { return lines + ["    nodes: {}"] }
        lines.append("    nodes:")
        return lines + graph.nodes.map { "      \(YAMLText.name($0.name)): \(YAMLText.flow($0.fields))" }
    }

    /// The name of an entry, and one line for each of its fields in the given order. Omits fields that have their default.
    private static func fields(
        of name: String, _ json: JSONText, _ order: [String], defaults: [String: JSONText] = [:]
    ) -> [String] {
        let object = JSONObject(json) ?? JSONObject()
        return ["  \(YAMLText.name(name)):"]
            + order.compactMap { field in
                guard let value = object[field], value != defaults[field] else { return nil }
                // A calendar of one expression is written without a list.
                let only = field == "calendar" && value.elements?.count == 1 ? value.elements?.first : nil
                return "    \(field): \(YAMLText.flow(only ?? value))"
            }
    }
}
