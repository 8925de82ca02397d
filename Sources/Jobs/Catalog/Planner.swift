/// Resolves job requests, which refer to names, to jobs, which refer to numbers.
struct Planner {
    let catalog: Catalog
    let requests: [JobRequest]
    /// The start of jobs that wait for no other job of the graph and do not set a time themselves.
    let start: Submission.Start
    let kindsOfJobs: [JobID: String]
    /// The existing jobs that those jobs wait for in addition.
    let existing: [NewDependency]
    let isLone: Bool
    /// Whether a job may name a queue that does not exist.
    let makesQueues: Bool
    private(set) var indexes: [String: Int] = [:]
    private(set) var entries: [Catalog.DefinitionEntry] = []

    mutating func plan() throws(RequestProblem) -> [NewJob] {
        if requests.isEmpty { throw .noJobs }
        try numberNodes()
        try resolveDefinitions()
        var jobs: [NewJob] = []
        jobs.reserveCapacity(requests.count)
        for index in requests.indices { jobs.append(try job(index)) }
        let dependencies = jobs.map { job in
            job.dependencies.compactMap { if case .new(let index) = $0.job { index } else { nil } }
        }
        if let cycle = findCycle(dependencies) { throw .badGraph(.cycle(cycle.map(name))) }
        // Types are checked after cycles, because the types along a cycle mean nothing.
        for index in requests.indices {
            if let problem = inputProblems(index, jobs[index].dependencies).first { throw problem }
        }
        return jobs
    }

    /// The problems of all requests. A problem may hide others, which are then not reported.
    mutating func problems() -> [RequestProblem] {
        var found: [RequestProblem] = []
        var areResolved = false
        do throws(RequestProblem) {
            try numberNodes()
            try resolveDefinitions()
            areResolved = true
        } catch {
            found.append(error)
        }
        var unknownQueues: Set<String> = []
        for index in requests.indices {
            let queue = requests[index].queue
            if let queue, !catalog.queueNames.contains(queue), unknownQueues.insert(queue).inserted {
                found.append(.unknownQueue(queue, job: label(index), known: catalog.sortedQueueNames))
            }
            // Invalid edges are reported by `plan()` below.
            if areResolved { found += inputProblems(index, (try? dependencies(index)) ?? []) }
        }
        guard found.isEmpty else { return found }
        (entries, indexes) = ([], [:])
        do throws(RequestProblem) {
            _ = try plan()
            return []
        } catch {
            return [error]
        }
    }

    /// The name of the node, or its position; for a lone job, the name of its definition.
    private func name(_ index: Int) -> String {
        requests[index].node ?? (isLone ? "job \"\(requests[index].definition)\"" : "#\(index + 1)")
    }
    /// The job's name for messages; nil for a lone job without a name.
    private func label(_ index: Int) -> String? { isLone ? requests[index].node : name(index) }

    private mutating func numberNodes() throws(RequestProblem) {
        indexes.reserveCapacity(requests.count)
        for (index, request) in requests.enumerated() {
            guard let node = request.node else { continue }
            if !Names.isNodeName(node) { throw .badGraph(.badNodeName(node)) }
            if indexes.updateValue(index, forKey: node) != nil { throw .badGraph(.duplicateNode(node)) }
        }
    }

    private mutating func resolveDefinitions() throws(RequestProblem) {
        entries.reserveCapacity(requests.count)
        for (index, request) in requests.enumerated() {
            let name = request.definition
            guard let entry = catalog.entries[name] else {
                if let reason = catalog.problemsByName[name] {
                    throw .refusedDefinition(name, job: label(index), reason: reason)
                }
                if catalog.graphs[name] != nil { throw .graphDefinition(name, job: label(index)) }
                // A graph definition is allowed, and therefore suggested, only in place of a single definition.
                let known = isLone ? catalog.names : catalog.entries.keys.sorted()
                throw .unknownDefinition(name, job: label(index), known: known)
            }
            entries.append(entry)
        }
    }

    private func job(_ index: Int) throws(RequestProblem) -> NewJob {
        let request = requests[index]
        let definition = entries[index].stored.definition
        let queue = request.queue ?? definition.queue
        if !catalog.queueNames.contains(queue), !(makesQueues && Names.isName(queue)) {
            throw .unknownQueue(queue, job: label(index), known: catalog.sortedQueueNames)
        }
        if let bytes = request.input?.bytes.count, bytes > JSONText.maxBytes {
            throw .badInput(.tooLarge(bytes: bytes), job: label(index))
        }
        let dependencies = try dependencies(index)
        let isRoot = !dependencies.contains { if case .new = $0.job { true } else { false } }
        return NewJob(
            definition: entries[index].stored.id, node: request.node, input: request.input, queue: queue,
            priority: request.priority ?? definition.priority,
            start: request.startAt.map { .at($0) } ?? (isRoot ? start : .now),
            dependencies: dependencies)
    }

    private func dependencies(_ index: Int) throws(RequestProblem) -> [NewDependency] {
        let request = requests[index]
        if request.after.isEmpty && existing.isEmpty { return [] }
        var result: [NewDependency] = []
        result.reserveCapacity(request.after.count)
        var isRoot = true
        for dependency in request.after {
            switch dependency.job {
            case .job(let id):
                result.append(NewDependency(on: .existing(id), condition: dependency.condition))
            case .node(let node):
                guard let other = indexes[node] else {
                    throw .badGraph(.unknownNode(node, from: name(index), known: requests.compactMap(\.node)))
                }
                isRoot = false
                result.append(NewDependency(on: .new(other), condition: dependency.condition))
            }
        }
        if isRoot { result += existing }
        try checkOnce(result, index)
        return result
    }

    private func checkOnce(_ dependencies: [NewDependency], _ index: Int) throws(RequestProblem) {
        if dependencies.count < 2 { return }
        // A job usually has few dependencies. Comparing these is faster than hashing them.
        if dependencies.count <= 16 {
            var isOnce = true
            for (index, dependency) in dependencies.enumerated() {
                for other in dependencies[..<index] where other.job == dependency.job { isOnce = false }
            }
            if isOnce { return }
        }
        var seen: Set<NewDependency.Job> = []
        for dependency in dependencies where !seen.insert(dependency.job).inserted {
            let name =
                switch dependency.job {
                case .new(let other): self.name(other)
                case .existing(let id): "job \(id)"
                }
            throw .badGraph(.dependsTwice(node: self.name(index), on: name))
        }
    }

    /// The problems of the fields that are present, and the required fields that are neither present nor supplied by a
    /// dependency.
    private func inputProblems(_ index: Int, _ dependencies: [NewDependency]) -> [RequestProblem] {
        let entry = entries[index]
        var found: [RequestProblem] = []
        var given: [String] = []
        if let input = requests[index].input {
            let (present, problems) = entry.kind.problems(of: input)
            found = problems.map { .badInput($0, job: label(index)) }
            given = present
        }
        for field in entry.missing where !given.contains(field.name) {
            let isFillable = entry.kind.isFromDependency(field)
            let accepts = isFillable ? entry.kind.description.accepts : nil
            if !isFillable || dependencies.isEmpty {
                found.append(.badInput(.missingField(field.name, accepts: accepts), job: label(index)))
            } else if !dependencies.contains(where: { fits($0, entry.kind.description) }) {
                found.append(
                    .badGraph(
                        .doesNotFit(
                            node: name(index), field: field.name, accepts: accepts,
                            offers: dependencies.compactMap(offer))))
            }
        }
        return found
    }

    private func kind(of dependency: NewDependency) -> KindDescription? {
        switch dependency.job {
        case .new(let index): entries[index].kind.description
        case .existing(let id): kindsOfJobs[id].flatMap { catalog.kinds[$0]?.description }
        }
    }

    private func fits(_ dependency: NewDependency, _ description: KindDescription) -> Bool {
        guard let offered = kind(of: dependency) else { return true }
        return description.accepts(outputOf: offered)
    }

    private func offer(_ dependency: NewDependency) -> GraphProblem.Offer? {
        guard let kind = kind(of: dependency) else { return nil }
        switch dependency.job {
        case .new(let index): return .init(node: name(index), type: kind.offers)
        case .existing(let id): return .init(node: "job \(id)", type: kind.offers)
        }
    }
}
