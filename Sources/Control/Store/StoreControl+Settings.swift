import Jobs

extension StoreControl {
    public func queues() async throws(ControlProblem) -> [QueueRecord] {
        try await asked { () throws(StoreError) in try await store.queues() }
    }

    public func change(_ queue: QueueChange) async throws(ControlProblem) -> QueueRecord {
        try await alone { () throws(ControlProblem) in try await checkAndChange(queue) }
    }

    private func checkAndChange(_ queue: QueueChange) async throws(ControlProblem) -> QueueRecord {
        let catalog = try await asked { () throws(StoreError) in try await currentCatalog.read() }
        let names = Set(catalog.definitions.queues.map(\.name)).union([QueueSettings.defaultName])
        // A setting makes a queue; a pause of one that does not exist is a slip.
        if !names.contains(queue.name), queue.limit == nil, queue.weight == nil {
            throw ControlProblem(
                .unknownQueue,
                sentence(NearestName.unknown("queue", queue.name, among: names.sorted(), listing: "the queues are")))
        }
        let problems = catalog.check(DefinitionChange(queues: [queue]))
        if let problem = problems.first {
            throw ControlProblem(
                .invalidRequest, sentence(problem.description), details: problems.dropFirst().map(\.description))
        }
        return try await asked { () throws(StoreError) in try await store.change(queue, now: now()) }
    }
}
