import ControlProtocol
import Jobs
import OperationTypes

extension StoreControl {
    public func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        if submissions.isEmpty { return [] }
        let catalog = try await readCatalog()
        let large = largeGraphs(of: catalog)
        guard submissions.reduce(0, { $0 + expectedJobs(of: $1, large) }) > Self.fewJobs else {
            return try await enqueue(submissions, catalog)
        }
        return try await withTaskExecutorPreference(planning) { () throws(ControlProblem) in
            try await enqueue(submissions, catalog)
        }
    }

    private func enqueue(
        _ submissions: [Submission], _ catalog: Catalog
    ) async throws(ControlProblem) -> [SubmissionAnswer] {
        var answers = [SubmissionAnswer?](repeating: nil, count: submissions.count)
        var failure: ControlProblem?
        do throws(ControlProblem) {
            try await enqueue(submissions, catalog, answering: &answers)
        } catch {
            guard answers.contains(where: { $0?.isAccepted ?? false }) else { throw error }
            failure = error
        }
        return answers.map { $0 ?? .refused(failure ?? .noResponse) }
    }

    /// The number of jobs that the store receives together: enough to share a commit, but not so many that
    /// other writes wait long.
    static let batchJobs = 2000

    /// The number of jobs above which a request waits for one of the few turns of ``manyJobs``.
    static let fewJobs = 1000

    private func enqueue(
        _ submissions: [Submission], _ catalog: Catalog, answering answers: inout [SubmissionAnswer?]
    ) async throws(ControlProblem) {
        let kinds = try await kindsOfJobs(submissions)
        let moment = now()
        let checker = InputChecker(catalog: catalog, check: daemon?.beginInputCheck?())
        let large = largeGraphs(of: catalog)
        var batch: [(place: Int, graph: NewGraph)] = []
        // Refused jobs also count, since planning them takes as long.
        var batchedJobs = 0
        var hasTurn = false
        defer { if hasTurn { manyJobs.signal() } }
        var held: [(place: Int, files: [SpoolName])] = []
        defer {
            for (place, files) in held {
                spoolUsers?.release(files, isDuplicate: answers[place]?.isDuplicate ?? false)
            }
        }
        for (place, submission) in submissions.enumerated() {
            if batchedJobs >= Self.batchJobs {
                batch = try await checked(batch, of: submissions, checker, answering: &answers)
                try await accept(batch, now: moment, answering: &answers)
                (batch, batchedJobs) = ([], 0)
                if hasTurn { manyJobs.signal() }
                hasTurn = false
            }
            let expectedJobs = expectedJobs(of: submission, large)
            batchedJobs += expectedJobs
            if batchedJobs > Self.fewJobs, !hasTurn {
                guard await manyJobs.wait() else { throw .endedBeforeItsTurn }
                hasTurn = true
            }
            let problem: ControlProblem
            do throws(RequestProblem) {
                var graph = try catalog.plan(submission, kindsOfJobs: kinds)
                graph.key = submission.keyByContent
                batchedJobs += graph.jobs.count - expectedJobs
                if let spoolUsers { held.append((place, spoolUsers.hold(graph))) }
                guard let refusal = spoolUsers?.problem(of: graph) else {
                    batch.append((place, graph))
                    continue
                }
                problem = refusal
            } catch {
                problem = ControlProblem(error)
            }
            answers[place] = try await earlierAnswer(to: submission, insteadOf: problem) ?? .refused(problem)
        }
        batch = try await checked(batch, of: submissions, checker, answering: &answers)
        try await accept(batch, now: moment, answering: &answers)
    }

    /// Checks the inputs of all planned graphs with one question to each worker, answers the refused ones, and returns the
    /// others.
    private func checked(
        _ batch: [(place: Int, graph: NewGraph)], of submissions: [Submission], _ checker: InputChecker,
        answering answers: inout [SubmissionAnswer?]
    ) async throws(ControlProblem) -> [(place: Int, graph: NewGraph)] {
        let problems = await checker.problems(of: batch.map(\.graph))
        if problems.allSatisfy({ $0 == nil }) { return batch }
        var accepted: [(place: Int, graph: NewGraph)] = []
        for (planned, problem) in zip(batch, problems) {
            guard let problem else {
                accepted.append(planned)
                continue
            }
            let earlier = try await earlierAnswer(to: submissions[planned.place], insteadOf: problem)
            answers[planned.place] = earlier ?? .refused(problem)
        }
        return accepted
    }

    /// Returns the number of jobs of each graph definition that has many.
    private func largeGraphs(of catalog: Catalog) -> [String: Int] {
        var large: [String: Int] = [:]
        for stored in catalog.definitions.graphs where stored.definition.nodes.count > Self.fewJobs {
            large[stored.definition.name] = stored.definition.nodes.count
        }
        return large
    }

    /// Returns the number of jobs before they are planned: exact if there are many, otherwise possibly too low.
    private func expectedJobs(of submission: Submission, _ large: [String: Int]) -> Int {
        switch submission.work {
        case .definition(let name): large[name] ?? 1
        case .jobs(let requests, _): requests.count
        }
    }

    /// Passes planned graphs to the store. A graph that the store may write in several transactions goes alone:
    /// if it fails, other graphs in the same call may already be stored, but their callers would get the error.
    private func accept(
        _ batch: [(place: Int, graph: NewGraph)], now moment: Timestamp, answering answers: inout [SubmissionAnswer?]
    ) async throws(ControlProblem) {
        var rest = batch[...]
        while let first = rest.first {
            let together = first.graph.isLarge ? rest.prefix(1) : rest.prefix { !$0.graph.isLarge }
            rest = rest.dropFirst(together.count)
            let new = try await submit(together.map(\.graph), now: moment)
            for ((place, _), answer) in zip(together, new) { answers[place] = answer }
        }
    }

    /// Returns the answer to an earlier request with the same key. That answer stays valid even if definitions
    /// or files have changed since then. The store also looks up keys, but only for requests that can still be
    /// planned.
    private func earlierAnswer(
        to submission: Submission, insteadOf problem: ControlProblem
    ) async throws(ControlProblem) -> SubmissionAnswer? {
        guard let key = submission.keyByContent else { return nil }
        let outcome = try await mappingStoreErrors(await store.outcome(of: key))
        // A caller whose file is outside the roots first sends the file to the spool, and repeats its request
        // with the spooled file. Only that request equals the earlier one.
        if case .refused? = outcome, problem.code == .outsideRoots { return nil }
        return outcome.map(SubmissionAnswer.init)
    }

    /// Returns the kinds of the existing jobs that submissions depend on. A missing job is left out, since the
    /// store refuses it.
    private func kindsOfJobs(_ submissions: [Submission]) async throws(ControlProblem) -> [JobID: String] {
        var kinds: [JobID: String] = [:]
        for submission in submissions {
            for id in submission.existingJobs where kinds[id] == nil {
                kinds[id] = try await mappingStoreErrors(await store.job(id)?.kind)
            }
        }
        return kinds
    }
}

extension NewGraph {
    /// Whether the graph may be too large to share a transaction.
    fileprivate var isLarge: Bool {
        weight > StoreControl.fewJobs
    }
}

extension Submission {
    fileprivate var existingJobs: [JobID] {
        var jobs = after.map(\.job)
        if case .jobs(let requests, _) = work {
            for case .job(let id) in requests.lazy.flatMap(\.after).map(\.job) { jobs.append(id) }
        }
        return jobs
    }
}

extension SubmissionAnswer {
    fileprivate var isAccepted: Bool {
        if case .refused = self { false } else { true }
    }

    fileprivate var isDuplicate: Bool {
        if case .duplicate = self { true } else { false }
    }

    init(_ outcome: EnqueueOutcome) {
        switch outcome {
        case .enqueued(let receipt): self = .enqueued(receipt)
        case .duplicate(let receipt): self = .duplicate(receipt)
        case .refused(let refusal): self = .refused(ControlProblem(refusal))
        }
    }
}

/// Passes the inputs of planned jobs to the daemon's check.
struct InputChecker {
    let check: DaemonHooks.InputCheck?
    private var definitions: [DefinitionID: Definition] = [:]

    init(catalog: Catalog, check: DaemonHooks.InputCheck?) {
        self.check = check
        guard check != nil else { return }
        for stored in catalog.definitions.definitions { definitions[stored.id] = stored.definition }
    }

    /// Returns the first problem of each graph; nil if it has none.
    func problems(of graphs: [NewGraph]) async -> [ControlProblem?] {
        guard let check else { return graphs.map { _ in nil } }
        let inputs = graphs.map(inputs)
        var problems = await check(inputs.flatMap(\.self))[...]
        return inputs.map { own in
            defer { problems = problems.dropFirst(own.count) }
            return problems.prefix(own.count).lazy.compactMap(\.self).first
        }
    }

    private func inputs(of graph: NewGraph) -> [PlannedInput] {
        graph.jobs.compactMap { job in
            guard let definition = definitions[job.definition], let defaults = JSONObject(definition.input) else {
                return nil
            }
            let fields = job.input.flatMap(JSONObject.init) ?? JSONObject()
            return PlannedInput(
                kind: definition.kind, input: defaults.overlaid(by: fields).text,
                stage: job.dependencies.isEmpty ? .whole : .waiting, program: definition.program)
        }
    }
}
