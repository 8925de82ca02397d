import Jobs

/// What a document of definitions says: queues, definitions, graph definitions and schedules to write together.
///
/// ```yaml
/// queues:
///   network: {limit: 32, weight: 2}
/// definitions:
///   unfurl:
///     kind: unfurl
///     queue: network
///     timeout: 30s
///     retry: {attempts: 5, delay: exponential, initial: 1s, cap: 5m}
/// graphs:
///   save-link:
///     parameters: {url: unfurl.url, to: upload.to}
///     nodes:
///       unfurl: {definition: unfurl}
///       enrich: {definition: enrich, after: [unfurl]}
///       upload: {definition: upload, after: ["enrich:finished"]}
/// schedules:
///   nightly:
///     calendar: Mon..Fri 03:00 Europe/Berlin
///     definition: save-link
///     input: {url: https://example.org/, to: https://files.example.org/page}
/// ```
///
/// The YAML is read by the rules of version 1.2, so `on` and `no` are strings, and JSON is accepted as it is.
public struct DefinitionDocument: Hashable, Sendable {
    public var change: DefinitionChange
    /// The line, from 1, at which each thing begins; empty where the document gives none.
    public var lines: [DefinitionProblem.Subject: Int]

    /// The largest document: 8 MiB.
    public static let maxBytes = 8 << 20

    /// Reads a document strictly: unknown and repeated names, wrong types and bad values are refused. Whether the names in
    /// it exist is for ``Jobs/Catalog/check(_:)`` to say.
    public static func parse(_ text: String) throws(DefinitionsProblem) -> DefinitionDocument {
        let tree = try YAMLTree(text)
        do throws(ShapeProblem) {
            return try DefinitionDocument(tree)
        } catch {
            let place = error.path.joined(separator: ".")
            throw DefinitionsProblem(
                line: tree.line(of: error.path), place: place.isEmpty ? nil : place, message: error.message)
        }
    }

    private init(_ tree: YAMLTree) throws(ShapeProblem) {
        let fields = try JSONFields(tree.json, at: [], known: ["queues", "definitions", "graphs", "schedules"])
        change = DefinitionChange()
        lines = [:]
        if let queues = fields["queues"] {
            change.queues = try readNamed(queues, at: ["queues"]) { (json, name, path) throws(ShapeProblem) in
                try QueueChange(json: json, name: name, at: path)
            }
        }
        if let definitions = fields["definitions"] {
            change.definitions = try readNamed(definitions, at: ["definitions"]) {
                (json, name, path) throws(ShapeProblem) in
                try Definition(json: json, name: name, at: path)
            }
        }
        if let graphs = fields["graphs"] {
            change.graphs = try readNamed(graphs, at: ["graphs"]) { (json, name, path) throws(ShapeProblem) in
                try GraphDefinition(json: json, name: name, at: path)
            }
        }
        if let schedules = fields["schedules"] {
            change.schedules = try readNamed(schedules, at: ["schedules"]) { (json, name, path) throws(ShapeProblem) in
                try Schedule(json: json, name: name, at: path)
            }
        }
        note("queues", change.queues.map { .queue($0.name) }, tree)
        note("definitions", change.definitions.map { .definition($0.name) }, tree)
        note("graphs", change.graphs.map { .graph($0.name) }, tree)
        note("schedules", change.schedules.map { .schedule($0.name) }, tree)
    }

    /// Things are under their name in a map, or under their number in a list.
    private mutating func note(_ section: String, _ subjects: [DefinitionProblem.Subject], _ tree: YAMLTree) {
        let known = tree.lines(in: section)
        for (index, subject) in subjects.enumerated() {
            guard let line = known[subject.name] ?? known["\(index)"] else { continue }
            lines[subject] = line
        }
    }

    /// A problem that the catalog found, with the line of what it is about.
    public func describe(_ problem: DefinitionProblem) -> String {
        guard let line = lines[problem.subject] else { return problem.description }
        return "line \(line): \(problem)"
    }
}
