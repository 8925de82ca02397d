import CalendarEvents
import Jobs

extension DefinitionDocument {
    /// Writes all definitions, in order of name, as a document that ``parse(_:)`` reads back to the same definitions.
    /// It includes definitions that cannot be used now. If the stored form of a definition is invalid, only a comment
    /// names it.
    public static func export(_ definitions: DefinitionSet) -> String {
        var lines: [String] = []
        if !definitions.queues.isEmpty {
            lines.append("queues:")
            for queue in definitions.queues.sorted(by: { $0.name < $1.name }) {
                lines.append("  \(YAMLText.name(queue.name)): {limit: \(queue.limit), weight: \(queue.weight)}")
            }
        }
        if !definitions.definitions.isEmpty {
            lines += ["", "definitions:"]
            for stored in definitions.definitions.sorted(by: { $0.definition.name < $1.definition.name }) {
                lines += stored.unreadable.map { leftOut(stored.definition.name, $0) } ?? self.lines(stored.definition)
            }
        }
        if !definitions.graphs.isEmpty {
            lines += ["", "graphs:"]
            for stored in definitions.graphs.sorted(by: { $0.definition.name < $1.definition.name }) {
                lines += stored.unreadable.map { leftOut(stored.definition.name, $0) } ?? self.lines(stored.definition)
            }
        }
        if !definitions.schedules.isEmpty {
            lines += ["", "schedules:"]
            lines += definitions.schedules.sorted { $0.name < $1.name }.flatMap(self.lines)
        }
        if lines.isEmpty { return "{}\n" }
        return lines.drop { $0.isEmpty }.joined(separator: "\n") + "\n"
    }

    private static func leftOut(_ name: String, _ reason: String) -> [String] {
        ["  # Omitted, because the stored definition is unreadable: \(YAMLText.name(name)) \(YAMLText.string(reason))"]
    }

    private static func lines(_ definition: Definition) -> [String] {
        var lines = ["  \(YAMLText.name(definition.name)):", "    kind: \(YAMLText.string(definition.kind))"]
        if let summary = definition.summary { lines.append("    summary: \(YAMLText.string(summary))") }
        lines.append("    queue: \(YAMLText.string(definition.queue))")
        if definition.priority != .normal { lines.append("    priority: \(definition.priority.name)") }
        if let timeout = definition.timeout { lines.append("    timeout: \(timeout.human)") }
        lines.append("    retry: \(YAMLText.flow(definition.retry.json))")
        let fields = (JSONObject(definition.input) ?? JSONObject()).fields
        if !fields.isEmpty {
            lines.append("    input:")
            lines += fields.map { "      \(YAMLText.name($0.name)): \(YAMLText.flow($0.value))" }
        }
        return lines
    }

    private static func lines(_ schedule: Schedule) -> [String] {
        var lines = ["  \(YAMLText.name(schedule.name)):"]
        if let summary = schedule.summary { lines.append("    summary: \(YAMLText.string(summary))") }
        let calendar = schedule.calendar.map { YAMLText.string($0.description) }
        lines.append("    calendar: \(calendar.count == 1 ? calendar[0] : "[\(calendar.joined(separator: ", "))]")")
        lines.append("    definition: \(YAMLText.string(schedule.definition))")
        if let input = schedule.input { lines.append("    input: \(YAMLText.flow(input))") }
        if let queue = schedule.queue { lines.append("    queue: \(YAMLText.string(queue))") }
        if let priority = schedule.priority { lines.append("    priority: \(priority.name)") }
        if schedule.isPersistent { lines.append("    persistent: true") }
        if schedule.overlap != .skip { lines.append("    overlap: \(schedule.overlap.rawValue)") }
        return lines
    }

    private static func lines(_ graph: GraphDefinition) -> [String] {
        var lines = ["  \(YAMLText.name(graph.name)):"]
        if let summary = graph.summary { lines.append("    summary: \(YAMLText.string(summary))") }
        if !graph.parameters.isEmpty {
            let list = graph.parameters.map {
                "\(YAMLText.name($0.name)): \(YAMLText.string("\($0.node).\($0.field)"))"
            }
            lines.append("    parameters: {\(list.joined(separator: ", "))}")
        }
        if graph.nodes.isEmpty { return lines + ["    nodes: {}"] }
        lines.append("    nodes:")
        for node in graph.nodes {
            var fields = ["definition: \(YAMLText.string(node.definition))"]
            if !node.after.isEmpty {
                fields.append("after: [\(node.after.map { YAMLText.string($0.text) }.joined(separator: ", "))]")
            }
            if let queue = node.queue { fields.append("queue: \(YAMLText.string(queue))") }
            if let priority = node.priority { fields.append("priority: \(priority.name)") }
            if let input = node.input { fields.append("input: \(YAMLText.flow(input))") }
            lines.append("      \(YAMLText.name(node.name)): {\(fields.joined(separator: ", "))}")
        }
        return lines
    }
}
