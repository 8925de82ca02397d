import Jobs

/// The effect of a change on one queue, definition, graph definition or schedule.
public struct DefinitionDifference: Hashable, Sendable {
    /// The type of effect.
    public enum Change: String, Hashable, Sendable { case added, changed, unchanged, removed }

    /// Whether the entry is added, changed, left unchanged or removed.
    public var change: Change
    /// The kind and name of the entry.
    public var subject: DefinitionProblem.Subject
    /// For ``Change/changed``, the fields that differ, such as `timeout 30s → 1m`; otherwise empty.
    public var fields: [String] = []

    /// The type of the entry: `queue`, `definition`, `graph` or `schedule`.
    public var type: String { subject.type }

    /// The name of the entry.
    public var name: String { subject.name }
}

extension DefinitionDifference: CustomStringConvertible {
    /// A one-line description: `+ definition unfurl`, `~ definition upload: timeout 30s → 1m`, `= graph save-link
    /// (unchanged)` or `- definition old`.
    public var description: String {
        switch change {
        case .added: "+ \(type) \(name)"
        case .changed: "~ \(type) \(name): \(fields.joined(separator: ", "))"
        case .unchanged: "= \(type) \(name) (unchanged)"
        case .removed: "- \(type) \(name)"
        }
    }
}

extension DefinitionSet {
    /// Compares these definitions with those after `change`. The result has the order of the change: queues,
    /// definitions, graph definitions, schedules, removals.
    public func differences(after change: DefinitionChange) -> [DefinitionDifference] {
        let definitions = byName(self.definitions.map(\.definition), \.name)
        let graphs = byName(self.graphs.map(\.definition), \.name)
        let schedules = byName(self.schedules, \.name)
        var result = Self.compare(change.queues, with: byName(queues, \.name), \.name, as: { .queue($0) }) {
            Self.fields(of: $1, over: $0)
        }
        result += Self.compare(change.definitions, with: definitions, \.name, as: { .definition($0) }) {
            FieldDifferences($0.json, $1.json).texts
        }
        result += Self.compare(change.graphs, with: graphs, \.name, as: { .graph($0) }) {
            Self.fields(of: $1, over: $0)
        }
        result += Self.compare(change.schedules, with: schedules, \.name, as: { .schedule($0) }) {
            FieldDifferences($0.json, $1.json).texts
        }
        let written = Set(change.definitions.map(\.name) + change.graphs.map(\.name))
        for name in change.removals where !written.contains(name) {
            if definitions[name] != nil {
                result.append(DefinitionDifference(change: .removed, subject: .definition(name)))
            }
            if graphs[name] != nil { result.append(DefinitionDifference(change: .removed, subject: .graph(name))) }
        }
        for name in change.scheduleRemovals
        where schedules[name] != nil && !change.schedules.contains(where: { $0.name == name }) {
            result.append(DefinitionDifference(change: .removed, subject: .schedule(name)))
        }
        return result
    }

    /// - Parameter fields: Returns the differences between an old and a new entry.
    private static func compare<Old, New>(
        _ new: [New], with old: [String: Old], _ name: KeyPath<New, String>,
        as subject: (String) -> DefinitionProblem.Subject, fields: (Old, New) -> [String]
    ) -> [DefinitionDifference] {
        new.map { new in
            let subject = subject(new[keyPath: name])
            guard let old = old[new[keyPath: name]] else {
                return DefinitionDifference(change: .added, subject: subject)
            }
            let fields = fields(old, new)
            return DefinitionDifference(
                change: fields.isEmpty ? .unchanged : .changed, subject: subject, fields: fields)
        }
    }

    private static func fields(of change: QueueChange, over queue: QueueSettings) -> [String] {
        func text(_ limit: Int?) -> String { limit.map(String.init) ?? DaemonLimit.unlimitedName }
        var fields: [String] = []
        if let limit = change.limit, limit != queue.limit { fields.append("limit \(queue.limit) → \(limit)") }
        if let limit = change.limitPerDaemon, limit.number != queue.limitPerDaemon {
            fields.append("limit_per_daemon \(text(queue.limitPerDaemon)) → \(text(limit.number))")
        }
        if let weight = change.weight, weight != queue.weight { fields.append("weight \(queue.weight) → \(weight)") }
        return fields
    }

    private static func fields(of new: GraphDefinition, over old: GraphDefinition) -> [String] {
        var fields: [String] = []
        if old.summary != new.summary {
            fields.append("summary \(FieldDifferences.shown(old.summary)) → \(FieldDifferences.shown(new.summary))")
        }
        fields += namedFields(
            old.parameters.map { ("parameter \($0.name)", JSONText(string: "\($0.node).\($0.field)")) },
            new.parameters.map { ("parameter \($0.name)", JSONText(string: "\($0.node).\($0.field)")) })
        fields += namedFields(
            old.nodes.map { ("node \($0.name)", $0.fields) }, new.nodes.map { ("node \($0.name)", $0.fields) })
        if fields.isEmpty, old != new { fields.append("order changed") }
        return fields
    }

    private static func namedFields(
        _ old: [(name: String, value: JSONText)], _ new: [(name: String, value: JSONText)]
    ) -> [String] {
        let oldValues = byName(old, \.name).mapValues(\.value)
        let newNames = Set(new.map(\.name))
        return new.flatMap { name, value in
            guard let oldValue = oldValues[name] else { return ["\(name) added"] }
            return FieldDifferences(oldValue, value, name: name).texts
        } + old.filter { !newNames.contains($0.name) }.map { "\($0.name) removed" }
    }
}

/// The last element of each name.
private func byName<Element>(_ elements: [Element], _ name: KeyPath<Element, String>) -> [String: Element] {
    Dictionary(elements.map { ($0[keyPath: name], $0) }, uniquingKeysWith: { _, last in last })
}

extension GraphDefinition.Node {
    /// All fields except the name.
    var fields: JSONText {
        var object = JSONObject()
        object["definition"] = JSONText(string: definition)
        if !after.isEmpty { object["after"] = JSONText(elements: after.map { JSONText(string: $0.text) }) }
        if let queue { object["queue"] = JSONText(string: queue) }
        if let priority { object["priority"] = JSONText(string: priority.name) }
        if let input { object["input"] = input }
        return object.text
    }
}
