import OperationTypes

/// Checks definitions and graph definitions against the existing kinds, queues and names.
struct DefinitionChecker {
    typealias Reason = DefinitionProblem.Reason

    let kinds: [String: KindEntry]
    let queueNames: Set<String>
    /// The definitions that can be used.
    var entries: [String: Catalog.DefinitionEntry] = [:]
    /// The names of all definitions, including unusable ones.
    var definitionNames: Set<String> = []
    var graphNames: Set<String> = []

    func check(_ stored: StoredDefinition) -> (entry: Catalog.DefinitionEntry?, problems: [Reason]) {
        let definition = stored.definition
        var problems: [Reason] = []
        if !Names.isName(definition.name) { problems.append(.badName) }
        if let hidden = definition.summary.flatMap({ HiddenCharacter(in: $0) }) {
            problems.append(.hiddenInSummary(hidden))
        }
        if !queueNames.contains(definition.queue) {
            problems.append(.unknownQueue(definition.queue, known: queueNames.sorted()))
        }
        if let problem = definition.retry.problem { problems.append(.badRetryPolicy(problem)) }
        if let timeout = definition.timeout,
            timeout < .milliseconds(1) || timeout > RetryPolicy.longestDuration
        {
            problems.append(.badTimeout(timeout))
        }
        guard var kind = kinds[definition.kind] else {
            problems.append(.unknownKind(definition.kind, known: kinds.keys.sorted()))
            return (nil, problems)
        }
        if let program = definition.program {
            kind = KindEntry(
                program.description(of: kind.description),
                isOpen: program.fields == nil && program.standardInput == .json,
                lists: ProgramField.lists(among: program.fields ?? []))
        }
        if (definition.program != nil) != (definition.kind == ProgramDefinition.kind) {
            problems.append(.badProgram(isMissing: definition.program == nil))
        }
        let input = kind.problems(of: definition.input)
        problems += input.problems.map { .badInput($0) }
        guard problems.isEmpty else { return (nil, problems) }
        return (Catalog.DefinitionEntry(stored: stored, kind: kind, present: Set(input.present)), [])
    }

    func check(_ graph: GraphDefinition) -> [Reason] {
        var problems: [Reason] = []
        if !Names.isName(graph.name) { problems.append(.badName) }
        if let hidden = graph.summary.flatMap({ HiddenCharacter(in: $0) }) { problems.append(.hiddenInSummary(hidden)) }
        if definitionNames.contains(graph.name) { problems.append(.duplicate) }
        if graph.nodes.isEmpty { problems.append(.noNodes) }
        var present: [Set<String>] = []
        for node in graph.nodes {
            let (fields, found) = check(node)
            present.append(fields)
            problems += found.map { .badNode(node.name, $0) }
        }
        let areNodesGood = problems.isEmpty
        let links = NodeLinks(graph)
        problems += links.problems.map { .badGraph($0) }
        problems += checkParameters(graph, links, &present)
        // Types are checked only if nodes and edges are valid; otherwise the messages would mislead.
        if areNodesGood, links.problems.isEmpty {
            for (index, node) in graph.nodes.enumerated() {
                if let problem = checkFit(node, index, graph, links, present) { problems.append(.badGraph(problem)) }
            }
        }
        return problems
    }

    private func check(_ node: GraphDefinition.Node) -> (Set<String>, [DefinitionProblem.NodeReason]) {
        guard let entry = entries[node.definition] else {
            if definitionNames.contains(node.definition) { return ([], [.refusedDefinition(node.definition)]) }
            if graphNames.contains(node.definition) { return ([], [.graphDefinition(node.definition)]) }
            return ([], [.unknownDefinition(node.definition, known: definitionNames.sorted())])
        }
        var problems: [DefinitionProblem.NodeReason] = []
        if let queue = node.queue, !queueNames.contains(queue) {
            problems.append(.unknownQueue(queue, known: queueNames.sorted()))
        }
        guard let input = node.input else { return (entry.present, problems) }
        let found = entry.kind.problems(of: input)
        return (entry.present.union(found.present), problems + found.problems.map { .badInput($0) })
    }

    /// Checks the parameters, and adds the fields that they set to `present`.
    private func checkParameters(
        _ graph: GraphDefinition, _ links: NodeLinks, _ present: inout [Set<String>]
    ) -> [Reason] {
        var problems: [Reason] = []
        var names: Set<String> = []
        var owners: [String: String] = [:]
        for parameter in graph.parameters {
            func report(_ reason: DefinitionProblem.ParameterReason) {
                problems.append(.badParameter(parameter.name, reason))
            }
            if !Names.isNodeName(parameter.name) { report(.badName) }
            if !names.insert(parameter.name).inserted { report(.duplicate) }
            guard let index = links.indexes[parameter.node] else {
                report(.unknownNode(parameter.node, known: graph.nodes.map(\.name)))
                continue
            }
            if let entry = entries[graph.nodes[index].definition], entry.kind.fields[parameter.field] == nil {
                report(.unknownField(parameter.field, node: parameter.node, known: entry.kind.fieldNames))
            }
            let field = "\(parameter.node).\(parameter.field)"
            if let other = owners[field] { report(.sameField(as: other)) }
            owners[field] = parameter.name
            present[index].insert(parameter.field)
        }
        return problems
    }

    /// Checks that a dependency supplies every required field that is missing. A node without dependencies is not
    /// checked, because the caller who enqueues the graph can give the field.
    private func checkFit(
        _ node: GraphDefinition.Node, _ index: Int, _ graph: GraphDefinition, _ links: NodeLinks,
        _ present: [Set<String>]
    ) -> GraphProblem? {
        guard let entry = entries[node.definition], !links.dependencies[index].isEmpty else { return nil }
        for field in entry.kind.required
        where entry.kind.isFromDependency(field) && !present[index].contains(field.name) {
            let dependencies = links.dependencies[index].map { graph.nodes[$0] }
            let kinds = dependencies.compactMap { entries[$0.definition]?.kind.description }
            if kinds.contains(where: entry.kind.description.accepts(outputOf:)) { continue }
            return .doesNotFit(
                node: node.name, field: field.name, accepts: entry.kind.description.accepts,
                offers: zip(dependencies, kinds).map { .init(node: $0.name, type: $1.offers) })
        }
        return nil
    }
}

/// The nodes of a graph definition by index, with the edges between them.
struct NodeLinks {
    private(set) var indexes: [String: Int] = [:]
    private(set) var dependencies: [[Int]] = []
    private(set) var problems: [GraphProblem] = []

    init(_ graph: GraphDefinition) {
        let names = graph.nodes.map(\.name)
        for (index, name) in names.enumerated() {
            if !Names.isNodeName(name) { problems.append(.badNodeName(name)) }
            if indexes.updateValue(index, forKey: name) != nil { problems.append(.duplicateNode(name)) }
        }
        for node in graph.nodes {
            var numbers: [Int] = []
            var seen: Set<String> = []
            for edge in node.after {
                guard let index = indexes[edge.node] else {
                    problems.append(.unknownNode(edge.node, from: node.name, known: names))
                    continue
                }
                if seen.insert(edge.node).inserted {
                    numbers.append(index)
                } else {
                    problems.append(.dependsTwice(node: node.name, on: edge.node))
                }
            }
            dependencies.append(numbers)
        }
        if let cycle = findCycle(dependencies) { problems.append(.cycle(cycle.map { names[$0] })) }
    }
}
