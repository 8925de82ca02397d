import ControlProtocol
import Definitions
import Jobs

extension StoreControl {
    public func definitions() async throws(ControlProblem) -> DefinitionSet {
        let catalog = try await readCatalog()
        return Self.withProblems(catalog.definitions, of: catalog)
    }

    /// Uses the cached catalog, since every `halyard enqueue` begins with this call.
    public func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet {
        let catalog = try await readCatalog()
        guard let part = catalog.definitions.part(for: name) else {
            throw ControlProblem(RequestProblem.unknownDefinition(name, job: nil, known: catalog.names))
        }
        return Self.withProblems(part, of: catalog)
    }

    private static func withProblems(_ set: DefinitionSet, of catalog: Catalog) -> DefinitionSet {
        let problems = catalog.problemsByName
        var set = set
        // Callers read definitions to show them; a change is checked here.
        set.version = nil
        for index in set.definitions.indices {
            set.definitions[index].problem = problems[set.definitions[index].definition.name]
        }
        for index in set.graphs.indices {
            set.graphs[index].problem = problems[set.graphs[index].definition.name]
        }
        return set
    }

    public func exportDefinitions() async throws(ControlProblem) -> String {
        DefinitionDocument.export(try await definitions())
    }

    public func apply(_ text: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine] {
        let document: DefinitionDocument
        do {
            document = try DefinitionDocument.read(text)
        } catch {
            throw .wrongDefinitions(error.descriptions)
        }
        return try await checking { (catalog) throws(ControlProblem) in
            try await apply(document, dryRun: dryRun, over: catalog)
        }
    }

    private func apply(
        _ document: DefinitionDocument, dryRun: Bool, over catalog: Catalog
    ) async throws(ControlProblem) -> ChangeOutcome<[DefinitionLine]> {
        let definitions = catalog.definitions
        var problems = catalog.check(document.change)
        if let check = daemon?.beginInputCheck?() {
            let refused = Set(problems.map(\.subject))
            let inputs = document.change.ownInputs(over: definitions)
            for (input, problem) in zip(inputs, await check(inputs.map(\.planned))) {
                guard let problem = problem.map(input.problem), !refused.contains(problem.subject) else { continue }
                problems.append(problem)
            }
        }
        let wrong = document.descriptions(with: problems)
        if !wrong.isEmpty { throw .wrongDefinitions(wrong) }
        var lines = definitions.differences(after: document.change).map(DefinitionLine.init)
        let warnings = document.change.schedules.compactMap { schedule in
            schedule.warning(now: now()).map { (schedule.name, $0) }
        }
        for (name, warning) in warnings {
            for index in lines.indices where lines[index].type == "schedule" && lines[index].name == name {
                lines[index].warning = warning
            }
        }
        if !dryRun, lines.contains(where: { $0.change != .unchanged }) {
            let outcome = try await mappingStoreErrors(
                await store.change(document.change, checkedAt: definitions.version, now: now()))
            if case .outdated = outcome { return .outdated }
        }
        return .changed(lines)
    }

    public func removeDefinition(_ name: String) async throws(ControlProblem) {
        _ = try await checking { (catalog) throws(ControlProblem) in
            try await remove(name, from: catalog.definitions)
        }
    }

    private func remove(
        _ name: String, from definitions: DefinitionSet
    ) async throws(ControlProblem) -> ChangeOutcome<SettingsVersion> {
        let names = definitions.names
        guard names.contains(name) else {
            if definitions.schedules.contains(where: { $0.name == name }) {
                throw ControlProblem(
                    .notFound,
                    "There is no definition \"\(name)\", but there is a schedule. To remove it: halyard schedules remove \(name)"
                )
            }
            throw .unknown("definition", name, among: names.sorted())
        }
        let users = definitions.graphs.map(\.definition).filter { $0.nodes.contains { $0.definition == name } }
        guard users.isEmpty else {
            let graphs = users.map { "\"\($0.name)\"" }.joined(separator: ", ")
            throw ControlProblem(
                .inUse, "\"\(name)\" is used by the graph \(graphs). Remove or change the graph first.")
        }
        let schedules = definitions.schedules.filter { $0.definition == name }.map { "\"\($0.name)\"" }
        guard schedules.isEmpty else {
            throw ControlProblem(
                .inUse,
                "\"\(name)\" is used by the schedule \(schedules.joined(separator: ", ")). Remove or change the schedule first."
            )
        }
        return try await mappingStoreErrors(
            await store.change(
                DefinitionChange(removals: [name]), checkedAt: definitions.version, now: now()))
    }
}

extension ControlProblem {
    /// Reports a single problem in the message, and several as details.
    fileprivate static func wrongDefinitions(_ problems: [String]) -> ControlProblem {
        if problems.count == 1 { return ControlProblem(.invalidDefinitions, sentence(problems[0])) }
        let few = Array(problems.prefix(maxDefinitionProblems))
        let rest = few.count < problems.count ? "; the first \(few.count) are listed" : ""
        return ControlProblem(
            .invalidDefinitions, "\(problems.count) problems were found, and nothing was changed\(rest).", details: few)
    }

    private static let maxDefinitionProblems = 100
}

extension DefinitionLine {
    init(_ difference: DefinitionDifference) {
        let change: Change =
            switch difference.change {
            case .added: .added
            case .changed: .changed
            case .unchanged: .unchanged
            case .removed: .removed
            }
        self.init(change: change, type: difference.type, name: difference.name, fields: difference.fields)
    }
}
