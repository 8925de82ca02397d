import OperationTypes

extension DefinitionSet {
    /// The maximum number of definitions and graph definitions. It is limited because every reader receives all of
    /// them.
    public static let maxCount = 10_000
    /// The maximum size of all definitions, graph definitions and schedules together, as JSON: 16 MiB.
    public static let maxBytes = 16 << 20

    var count: Int { definitions.count + graphs.count }

    var bytes: Int {
        definitions.reduce(0) { $0 + $1.definition.json.bytes.count }
            + graphs.reduce(0) { $0 + $1.definition.json.bytes.count }
            + schedules.reduce(0) { $0 + $1.json.bytes.count }
    }

    /// An upper bound of ``bytes`` that is computed without encoding the definitions as JSON.
    var mostBytes: Int {
        definitions.reduce(0) { $0 + $1.definition.mostBytes }
            + graphs.reduce(0) { $0 + $1.definition.json.bytes.count }
            + schedules.reduce(0) { $0 + $1.json.bytes.count }
    }

    /// The schedules that a change can break or repair: it changes them, or the work that they enqueue.
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
        // JSON needs at most six bytes for each byte of text.
        let words = [name, kind, summary ?? "", queue].reduce(0) { $0 + $1.utf8.count } * 6
        var policy = 0
        if case .list(let delays) = retry.delay { policy += delays.count * 64 }
        if case .codes(let codes) = retry.failures { policy += codes.reduce(0) { $0 + $1.utf8.count * 6 + 3 } }
        return words + policy + input.bytes.count + (program?.json.bytes.count ?? 0) + 1024
    }
}
