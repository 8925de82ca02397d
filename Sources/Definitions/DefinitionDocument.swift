import Jobs

/// A document of definitions: queues, definitions, graph definitions and schedules to write together.
///
/// ```yaml
/// queues:
///   network: {limit: 32, weight: 2}
/// definitions:
///   unfurl:
///     kind: unfurl
///     queue: network
///     timeout: 30s
///     retry: {tries: 5, delay: exponential, initial: 1s, cap: 5m}
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
/// The YAML is parsed by the rules of version 1.2, so `on` and `no` are strings. JSON is accepted unchanged.
public struct DefinitionDocument: Sendable {
    /// The change that the document describes.
    public var change: DefinitionChange
    /// The line at which each entry begins, from 1; empty for a JSON document.
    public var lines: [DefinitionProblem.Subject: Int]
    /// The reasons why parts of the document are invalid. ``change`` lacks these parts, so use it only for checks.
    public private(set) var shapeProblems: [DefinitionsProblem] = []
    private var paths: [DefinitionProblem.Subject: [String]] = [:]
    /// The entries that other checks can judge despite the problems of shape; nil if there are none, so all entries.
    private var judged: Set<DefinitionProblem.Subject>?
    private let tree: YAMLTree

    /// The maximum size of a document: 8 MiB.
    public static let maxBytes = 8 << 20

    /// Parses a document strictly: unknown and repeated names, wrong types and invalid values are refused. It does not
    /// check whether the names in the document exist; `Catalog.check(_:)` does.
    ///
    /// - Throws: ``DefinitionsProblem`` for the first problem. It contains up to 19 others that were found.
    public static func parse(_ text: String) throws(DefinitionsProblem) -> DefinitionDocument {
        let document = try read(text)
        guard var first = document.shapeProblems.first else { return document }
        first.others = Array(document.shapeProblems.dropFirst())
        throw first
    }

    /// Parses a document in the same way as ``parse(_:)``, but continues after problems of shape, for callers that also
    /// check the rest. To report all problems, they call ``descriptions(with:)``.
    ///
    /// - Throws: ``DefinitionsProblem`` if the text is not YAML.
    public static func read(_ text: String) throws(DefinitionsProblem) -> DefinitionDocument {
        let tree = try YAMLTree(text)
        var reader = PatientReader()
        var document = DefinitionDocument(tree, &reader)
        document.shapeProblems = reader.problems.map { problem in
            DefinitionsProblem(line: tree.line(of: problem.path), path: problem.path, message: problem.message)
        }
        if !reader.problems.isEmpty { document.judged = document.unaffected(by: reader.problems.map(\.path)) }
        return document
    }

    /// The entries that have none of the problems and do not refer to an entry that has one.
    private func unaffected(by faulty: [[String]]) -> Set<DefinitionProblem.Subject> {
        // If entries of a list are missing, the indexes of the others differ from those in the document.
        guard faulty.allSatisfy({ $0.count > 1 }), paths.values.allSatisfy({ Int($0[1]) == nil }) else { return [] }
        func names(_ sections: String...) -> Set<String> {
            Set(faulty.filter { sections.contains($0[0]) }.map { $0[1] })
        }
        let (badQueues, badSchedules) = (names("queues"), names("schedules"))
        var badNames = names("definitions", "graphs")
        badNames.formUnion(change.definitions.filter { badQueues.contains($0.queue) }.map(\.name))
        let badGraphs = change.graphs.filter { graph in
            graph.nodes.contains { badNames.contains($0.definition) || $0.queue.map(badQueues.contains) ?? false }
        }
        badNames.formUnion(badGraphs.map(\.name))
        return Set(paths.keys).filter { subject in
            switch subject {
            case .queue(let name): !badQueues.contains(name)
            case .definition(let name), .graph(let name): !badNames.contains(name)
            case .schedule(let name):
                !badSchedules.contains(name)
                    && !change.schedules.contains { schedule in
                        schedule.name == name
                            && (badNames.contains(schedule.definition)
                                || schedule.queue.map(badQueues.contains) ?? false)
                    }
            }
        }
    }

    /// Describes each problem of shape, and the problems that other checks found in ``change``, without those that merely
    /// follow from a problem of shape.
    public func descriptions(with problems: [DefinitionProblem]) -> [String] {
        let others = problems.filter { judged?.contains($0.subject) ?? true }
        return shapeProblems.flatMap(\.descriptions) + others.map(describe)
    }

    private init(_ tree: YAMLTree, _ reader: inout PatientReader) {
        change = DefinitionChange()
        lines = [:]
        self.tree = tree
        let fields = reader.read(tree.json, at: []) { (json) throws(ShapeProblem) in
            try JSONFields(json, at: [], known: ["queues", "definitions", "graphs", "schedules"])
        }
        guard let fields else { return }
        change.queues = reader.read(section: "queues", of: fields, QueueChange.init)
        change.definitions = reader.read(section: "definitions", of: fields, Definition.init)
        change.graphs = reader.read(section: "graphs", of: fields, GraphDefinition.init)
        change.schedules = reader.read(section: "schedules", of: fields, Schedule.init)
        note("queues", change.queues.map { .queue($0.name) })
        note("definitions", change.definitions.map { .definition($0.name) })
        note("graphs", change.graphs.map { .graph($0.name) })
        note("schedules", change.schedules.map { .schedule($0.name) })
    }

    /// Finds the lines of the entries in a section. The path of an entry ends with its name in a map, and with its
    /// index in a list.
    private mutating func note(_ section: String, _ subjects: [DefinitionProblem.Subject]) {
        let known = tree.lines(in: section)
        for (index, subject) in subjects.enumerated() {
            let key = known[subject.name] == nil ? "\(index)" : subject.name
            guard let line = known[key] else { continue }
            lines[subject] = line
            paths[subject] = [section, key]
        }
    }

    /// Describes a problem that the catalog found, with the line of the field concerned, or else of the entry that
    /// contains it.
    public func describe(_ problem: DefinitionProblem) -> String {
        guard let path = paths[problem.subject], let line = tree.line(of: path + problem.reason.path) else {
            return problem.description
        }
        return "line \(line): \(problem)"
    }
}
