import ControlProtocol
import Jobs

extension StoreControl {
    public func queues() async throws(ControlProblem) -> [QueueRecord] {
        try await mappingStoreErrors(await store.queues())
    }

    public func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord {
        try await checking { (catalog) throws(ControlProblem) in
            try await change(queue, create: create, checkedBy: catalog)
        }
    }

    public func removeQueue(_ name: String) async throws(ControlProblem) {
        if name == QueueSettings.defaultName {
            throw ControlProblem(
                .inUse, "The queue \"\(name)\" cannot be removed. To stop it: halyard queues pause \(name)")
        }
        switch try await mappingStoreErrors(await store.removeQueue(name, now: now())) {
        case .removed: return
        case .unknown: throw unknown(name, among: try await queues().map(\.settings.name))
        case .used(let users):
            throw ControlProblem(
                .inUse, "The queue \"\(name)\" is used by \(Self.list(users)). \(Self.remedy(users, of: name))")
        }
    }

    private func unknown(_ name: String, among names: some Collection<String>) -> ControlProblem {
        ControlProblem(
            .unknownQueue, sentence(NearestName.unknown("queue", name, among: names, listing: "the queues are")))
    }

    private static func list(_ users: QueueUsers) -> String {
        func named(_ what: String, _ names: [String]) -> String? {
            guard !names.isEmpty else { return nil }
            let shown = names.prefix(10).map { "\"\($0)\"" }.joined(separator: ", ")
            return "the \(what)\(names.count == 1 ? "" : "s") \(shown)"
                + (names.count > 10 ? " and \(names.count - 10) more" : "")
        }
        let jobs = users.openJobs == 1 ? "a job that is not final" : "\(users.openJobs) jobs that are not final"
        return [
            users.openJobs == 0 ? nil : jobs, named("definition", users.definitions), named("graph", users.graphs),
            named("schedule", users.schedules),
        ].compactMap(\.self).joined(separator: ", by ")
    }

    private static func remedy(_ users: QueueUsers, of name: String) -> String {
        let namesIt = !(users.definitions + users.graphs + users.schedules).isEmpty
        if users.openJobs == 0 { return "Change those first." }
        let jobs = "Wait for the jobs or cancel them (halyard list --open --queue \(name))"
        return namesIt ? "\(jobs), and change the others, first." : "\(jobs) first."
    }

    private func change(
        _ queue: QueueChange, create: Bool, checkedBy catalog: Catalog
    ) async throws(ControlProblem) -> ChangeOutcome<QueueRecord> {
        let names = Set(catalog.definitions.queues.map(\.name)).union([QueueSettings.defaultName])
        if !create, !names.contains(queue.name) { throw unknown(queue.name, among: names) }
        let problems = catalog.check(DefinitionChange(queues: [queue]))
        if let problem = problems.first {
            throw ControlProblem(
                .invalidRequest, sentence(problem.description), details: problems.dropFirst().map(\.description))
        }
        return try await mappingStoreErrors(
            await store.change(queue, checkedAt: catalog.definitions.version, now: now()))
    }
}
