import ControlProtocol
import Jobs
import OperationTypes

/// Formats definitions, graph definitions and the differences that a document makes.
enum DefinitionText {
    static func table(_ set: DefinitionSet) -> Table {
        let definitions = set.definitions.map { stored -> [StyledText] in
            let definition = stored.definition
            return [
                "\(definition.name)", "\(definition.kind)", "\(definition.queue)", "\(definition.priority.name)",
                "\(stored.revision)", summary(definition.summary, problem: stored.problem),
            ]
        }
        let graphs = set.graphs.map { stored -> [StyledText] in
            let nodes = stored.definition.nodes.map(\.name).joined(separator: ", ")
            return [
                "\(stored.definition.name)", "graph", "", "", "\(stored.revision)",
                summary(stored.definition.summary ?? nodes, problem: stored.problem),
            ]
        }
        return Table(
            definitions + graphs,
            [
                .init("NAME", shrinks: true) { $0[0] }, .init("KIND") { $0[1] }, .init("QUEUE") { $0[2] },
                .init("PRIORITY") { $0[3] }, .init("REVISION", .right) { $0[4] },
                .init("SUMMARY", shrinks: true) { $0[5] },
            ])
    }

    private static func summary(_ summary: String?, problem: String?) -> StyledText {
        problem.map { "\("refused: \($0)", .red)" } ?? "\(summary ?? "")"
    }

    static func write(_ stored: StoredDefinition, kind: KindDescription?, now: Timestamp, to output: Output) throws {
        let definition = stored.definition
        try output.line("\("definition", .bold) \(definition.name, .bold)  revision \(stored.revision)")
        if let problem = stored.problem { try output.line("\("refused: \(problem)", .red)") }
        if let summary = definition.summary { try output.line("  \(summary)") }
        try output.table(
            .facts([
                ("kind", "\(definition.kind)"),
                ("queue", "\(definition.queue), priority \(definition.priority.name)"),
                ("timeout", "\(definition.timeout.map(\.human) ?? "none")"),
                ("retry", retry(definition.retry)),
                ("input", "\(definition.input.string)"),
                ("updated", TimeText.both(stored.updatedAt, now: now)),
            ]))
        if let program = definition.program { try write(program, to: output) }
        let inputFields = definition.program.map { ($0.fields ?? []).map(\.field) } ?? kind?.fields ?? []
        guard !inputFields.isEmpty else { return }
        let types = Dictionary(
            (definition.program?.fields ?? []).map { ($0.name, $0.typeName) }, uniquingKeysWith: { first, _ in first })
        try output.line("\("input fields, in the order of the arguments", .bold)")
        try output.table(
            Table(
                inputFields,
                [
                    .init { "\($0.name)" },
                    .init { "\($0.choices?.joined(separator: "|") ?? types[$0.name] ?? $0.shape.rawValue)" },
                    .init { "\($0.isFromDependency ? "from dependency" : $0.isRequired ? "required" : "", .dim)" },
                    .init(shrinks: true) { "\($0.summary)" },
                ]))
    }

    private static func write(_ program: ProgramDefinition, to output: Output) throws {
        let json = JSONObject(program.json) ?? JSONObject()
        let facts = json.fields.filter { $0.name != "fields" }
        try output.table(.facts(facts.map { ($0.name, "\($0.value.decodedString ?? $0.value.string)") }))
    }

    /// - Parameter needed: The fields that a submission must give by node, besides the parameters.
    static func write(
        _ stored: StoredGraphDefinition, needed: [Catalog.NeededField] = [], now: Timestamp, to output: Output
    ) throws {
        let graph = stored.definition
        try output.line("\("graph definition", .bold) \(graph.name, .bold)  revision \(stored.revision)")
        if let problem = stored.problem { try output.line("\("refused: \(problem)", .red)") }
        if let summary = graph.summary { try output.line("  \(summary)") }
        try output.table(.facts([("updated", TimeText.both(stored.updatedAt, now: now))]))
        if !graph.parameters.isEmpty {
            try output.line("\("parameters, in the order of the arguments", .bold)")
            try output.table(
                .facts(graph.parameters.map { ($0.name, "\($0.node).\($0.field)") }))
        }
        if !needed.isEmpty {
            try output.line("\("fields that nodes need, as node.field=VALUE", .bold)")
            try output.table(
                Table(
                    needed,
                    [
                        .init { "\($0.node).\($0.field)" }, .init { "\($0.type)" },
                        .init(shrinks: true) { "\($0.summary)" },
                    ]))
        }
        try output.line("\("nodes", .bold)")
        try output.table(
            Table(
                graph.nodes,
                [
                    .init("NODE") { "\($0.name)" }, .init("DEFINITION") { "\($0.definition)" },
                    .init("AFTER", shrinks: true) { node in
                        let after = node.after.map {
                            $0.condition == .succeeded ? $0.node : "\($0.node) (\($0.condition.name))"
                        }
                        return "\(after.joined(separator: ", "))"
                    }, .init("INPUT", shrinks: true) { "\($0.input?.string ?? "")" },
                ], indent: 2))
    }

    private static func retry(_ policy: RetryPolicy) -> StyledText {
        let delay =
            switch policy.delay {
            case .none: "no delay"
            case .constant(let delay): "every \(delay.human)"
            case .exponential(let initial, let multiplier, let cap):
                "after \(initial.human), times \(multiplier), at most \(cap.human)"
            case .list(let delays): "after \(delays.map(\.human).joined(separator: ", "))"
            }
        let failures =
            switch policy.failures {
            case .retryable: "failures that say so"
            case .any: "any failure"
            case .codes(let codes): codes.sorted().joined(separator: ", ")
            }
        if policy.tries == 1 { return "never" }
        let jitter = policy.jitter == .full ? ", full jitter" : ""
        return "\(policy.tries) tries, \(delay)\(jitter), on \(failures)"
    }

    static func difference(_ line: DefinitionLine) -> [StyledText] {
        let head: StyledText =
            switch line.change {
            case .added: "\("+ \(line.type) \(line.name)", .green)"
            case .changed: "\("~ \(line.type) \(line.name)", .yellow)"
            case .unchanged: "\("= \(line.type) \(line.name)", .dim)"
            case .removed: "\("- \(line.type) \(line.name)", .red)"
            }
        return [head] + line.fields.map { "    \($0)" }
    }
}
