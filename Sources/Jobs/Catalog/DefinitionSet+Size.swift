import OperationTypes

extension DefinitionSet {
    /// The most definitions and graph definitions: every reader gets all of them.
    public static let maxCount = 10_000
    /// The most bytes of all definitions, graph definitions and schedules together, as JSON: 16 MiB.
    public static let maxBytes = 16 << 20

    var count: Int { definitions.count + graphs.count }

    var bytes: Int {
        definitions.reduce(0) { $0 + $1.definition.json.bytes.count }
            + graphs.reduce(0) { $0 + $1.definition.json.bytes.count }
            + schedules.reduce(0) { $0 + $1.json.bytes.count }
    }

    /// No less than ``bytes``, and found without writing the definitions as JSON.
    var mostBytes: Int {
        definitions.reduce(0) { $0 + $1.definition.mostBytes }
            + graphs.reduce(0) { $0 + $1.definition.json.bytes.count }
            + schedules.reduce(0) { $0 + $1.json.bytes.count }
    }

    /// The schedules that a change may hinder or mend: what they are, or what they enqueue, is part of it.
    func schedules(concernedBy change: DefinitionChange) -> [Schedule] {
        let touched = Set(change.schedules.map(\.name))
        var names = Set(change.definitions.map(\.name) + change.graphs.map(\.name) + change.removals)
        for graph in graphs.map(\.definition) where graph.nodes.contains(where: { names.contains($0.definition) }) {
            names.insert(graph.name)
        }
        return schedules.filter { touched.contains($0.name) || names.contains($0.definition) }
    }
}

extension Definition {
    fileprivate var mostBytes: Int {
        // A character of a byte is written with six at most.
        let words = [name, kind, summary ?? "", queue].reduce(0) { $0 + $1.utf8.count } * 6
        var policy = 0
        if case .list(let delays) = retry.delay { policy += delays.count * 64 }
        if case .codes(let codes) = retry.failures { policy += codes.reduce(0) { $0 + $1.utf8.count * 6 + 3 } }
        return words + policy + input.bytes.count + 1024
    }
}
