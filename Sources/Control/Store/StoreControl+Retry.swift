import Jobs

extension StoreControl {
    public func retry(_ id: JobID, dependents: Bool) async throws(ControlProblem) -> EnqueueReceipt {
        let job = try await record(id)
        guard job.state.isFinal else {
            throw ControlProblem(
                .conflict, "Job \(id) is \(job.state.name) and not final yet. Wait for it, or cancel it first.")
        }
        var repeated = [job]
        if dependents { repeated += try await skippedDependents(of: id) }
        let plan = try await plan(repeated)
        if let spoolUsers, let problem = plan.jobs.lazy.compactMap({ spoolUsers.problem(of: $0.input) }).first {
            throw problem
        }
        let outcomes = try await enqueue([plan], now: now())
        guard let outcome = outcomes.first else {
            throw ControlProblem(.internal, "The store gave no answer. Please report this.")
        }
        return try SubmissionAnswer(outcome).receipt()
    }

    /// Every job that was skipped because of `id`, directly or through others that were.
    private func skippedDependents(of id: JobID) async throws(ControlProblem) -> [JobRecord] {
        do throws(StoreError) {
            var found: [JobRecord] = []
            var seen: Set<JobID> = [id]
            var next = [id]
            while let job = next.popLast() {
                for edge in try await store.dependents(of: job) where seen.insert(edge.dependent).inserted {
                    guard let dependent = try await store.job(edge.dependent), dependent.state == .skipped else {
                        continue
                    }
                    found.append(dependent)
                    next.append(dependent.id)
                }
            }
            return found.sorted { $0.id < $1.id }
        } catch {
            throw ControlProblem(error)
        }
    }

    /// The same jobs again: edges among them stay among them, other edges lead to the jobs that there were.
    private func plan(_ jobs: [JobRecord]) async throws(ControlProblem) -> NewGraph {
        let catalog = try await asked { () throws(StoreError) in try await currentCatalog.read() }
        let definitions = Dictionary(
            catalog.definitions.definitions.map { ($0.definition.name, $0.id) }, uniquingKeysWith: { _, last in last })
        let places = Dictionary(
            jobs.enumerated().map { ($0.element.id, $0.offset) }, uniquingKeysWith: { first, _ in first })
        var new: [NewJob] = []
        for job in jobs {
            guard let definition = definitions[job.definition] else {
                throw ControlProblem(
                    .unknownDefinition,
                    "The definition \"\(job.definition)\" of job \(job.id) was removed. Apply it again first.")
            }
            var dependencies: [NewDependency] = []
            for edge in try await asked({ () throws(StoreError) in try await store.dependencies(of: job.id) }) {
                if let place = places[edge.dependency] {
                    dependencies.append(NewDependency(on: .new(place), condition: edge.condition))
                } else {
                    try await refuseIfHopeless(job, edge)
                    dependencies.append(NewDependency(on: .existing(edge.dependency), condition: edge.condition))
                }
            }
            new.append(
                NewJob(
                    definition: definition, node: job.node, input: job.input, queue: job.queue, priority: job.priority,
                    dependencies: dependencies, repeats: job.id))
        }
        let name: String? =
            if jobs.count > 1, let graph = jobs[0].graph {
                try await asked { () throws(StoreError) in try await store.graph(graph)?.name }
            } else {
                nil
            }
        return NewGraph(name: name, isGraph: jobs.count > 1, jobs: new)
    }

    /// A repeat would only be skipped again while its dependency stays as it ended.
    private func refuseIfHopeless(_ job: JobRecord, _ edge: DependencyRecord) async throws(ControlProblem) {
        let dependency = try await asked { () throws(StoreError) in try await store.job(edge.dependency) }
        guard let outcome = dependency?.state.outcome, !edge.condition.isMet(by: outcome) else { return }
        throw ControlProblem(
            .conflict,
            "Job \(job.id) needs job \(edge.dependency), which is \(outcome.name). Retry that one with its dependents (halyard retry --dependents \(edge.dependency))."
        )
    }
}
