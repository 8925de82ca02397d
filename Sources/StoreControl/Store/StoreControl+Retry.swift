import ControlProtocol
import Jobs
import OperationTypes

extension StoreControl {
    public func retry(
        _ id: JobID, dependents: Bool, key name: String?
    ) async throws(ControlProblem) -> EnqueueReceipt {
        let key = try IdempotencyKey(ofRetry: id, dependents: dependents, name: name)
        // A repeated request gets the first answer, no matter what has happened to the job since then.
        if let key, let outcome = try await mappingStoreErrors(await store.outcome(of: key)) {
            return try SubmissionAnswer(outcome).receipt()
        }
        let job = try await record(id)
        guard job.state.isFinal else {
            throw ControlProblem(
                .conflict, "Job \(id) is \(job.state.name), not final. Wait for it, or cancel it first.")
        }
        // With its dependents, a single job may lead to very many new jobs.
        if dependents {
            guard await manyJobs.wait() else { throw .endedBeforeItsTurn }
        }
        defer { if dependents { manyJobs.signal() } }
        var repeated = [job]
        if dependents {
            repeated += try await skippedDependents(of: id)
            repeated += try await unmetDependencies(of: repeated)
            repeated.sort { $0.id < $1.id }
        }
        var plan = try await plan(repeated)
        plan.key = key
        let held = spoolUsers?.hold(plan) ?? []
        defer { spoolUsers?.release(held) }
        if let problem = spoolUsers?.problem(of: plan) { throw problem }
        let outcomes = try await mappingStoreErrors(await store.enqueue([plan], now: now()))
        guard let outcome = outcomes.first else {
            throw ControlProblem(.internal, "The store returned no result. Please report this bug.")
        }
        return try SubmissionAnswer(outcome).receipt()
    }

    /// Returns every job that was skipped because of `id`, directly or through other skipped jobs.
    private func skippedDependents(of id: JobID) async throws(ControlProblem) -> [JobRecord] {
        do throws(StoreError) {
            var found: [JobRecord] = []
            var seen: Set<JobID> = [id]
            var next = [id]
            while let job = next.popLast() {
                for edge in try await store.dependents(of: job, limit: .max)
                where edge.state == .skipped && seen.insert(edge.job).inserted {
                    guard let dependent = try await store.job(edge.job) else { continue }
                    found.append(dependent)
                    next.append(dependent.id)
                }
            }
            return found
        } catch {
            throw ControlProblem(error)
        }
    }

    /// Returns every job that these jobs depend on, directly or indirectly, and that ended without meeting the
    /// condition. If two failed branches meet in one job, repeating only one of them would not help.
    private func unmetDependencies(of jobs: [JobRecord]) async throws(ControlProblem) -> [JobRecord] {
        var found: [JobRecord] = []
        var seen = Set(jobs.map(\.id))
        var next = jobs
        while let job = next.popLast() {
            for edge in try await allDependencies(of: job) where isHopeless(edge) && seen.insert(edge.job).inserted {
                let dependency = try await record(edge.job)
                found.append(dependency)
                next.append(dependency)
            }
        }
        return found
    }

    /// Plans the same jobs again. Edges between them connect the new jobs; other edges lead to the existing
    /// jobs.
    private func plan(_ jobs: [JobRecord]) async throws(ControlProblem) -> NewGraph {
        let catalog = try await readCatalog()
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
            for edge in try await allDependencies(of: job) {
                if let place = places[edge.job] {
                    dependencies.append(NewDependency(on: .new(place), condition: edge.condition))
                } else {
                    try refuseIfHopeless(job, edge)
                    dependencies.append(NewDependency(on: .existing(edge.job), condition: edge.condition))
                }
            }
            new.append(
                NewJob(
                    definition: definition, node: job.node, input: job.input, queue: job.queue, priority: job.priority,
                    dependencies: dependencies, repeats: job.id))
        }
        let name: String? =
            if jobs.count > 1, let graph = jobs[0].graph {
                try await mappingStoreErrors(await store.graph(graph)?.name)
            } else {
                nil
            }
        return NewGraph(name: name, isGraph: jobs.count > 1, jobs: new)
    }

    /// Returns all dependencies of a job. Throws if some no longer exist, since their outputs are inputs.
    /// Pruning keeps the dependencies of a job, so they were deleted directly in the database.
    private func allDependencies(of job: JobRecord) async throws(ControlProblem) -> [Neighbour] {
        let found = try await mappingStoreErrors(await store.dependencies(of: job.id, onlyOpen: false, limit: .max))
        guard found.jobs.count == found.count else {
            throw ControlProblem(
                .unmetDependency,
                "Only \(found.jobs.count) of \(found.count) dependencies of job \(job.id) are still in the database. Enqueue a new job with the complete input."
            )
        }
        return found.jobs
    }

    private func isHopeless(_ edge: Neighbour) -> Bool {
        edge.state.outcome.map { !edge.condition.isMet(by: $0) } ?? false
    }

    /// Refuses a repeat that would only be skipped, because a dependency that is not repeated did not meet its
    /// condition.
    private func refuseIfHopeless(_ job: JobRecord, _ edge: Neighbour) throws(ControlProblem) {
        guard isHopeless(edge) else { return }
        throw ControlProblem(
            .unmetDependency,
            "Job \(job.id) needs job \(edge.job), which is \(edge.state.name). Retry job \(edge.job) with its dependents: halyard retry --dependents \(edge.job)"
        )
    }
}

extension IdempotencyKey {
    fileprivate init?(ofRetry job: JobID, dependents: Bool, name: String?) throws(ControlProblem) {
        guard let name else { return nil }
        do throws(RequestProblem) {
            try Submission.check(key: name)
        } catch {
            throw ControlProblem(error)
        }
        var print = Fingerprint()
        print.add(Array("retry \(job) \(dependents)".utf8))
        self.init(name: name, fingerprint: print.value)
    }
}
