extension Catalog {
    /// Resolves the names in a submission to definition revisions, queues, priorities and edges. Checks everything that
    /// can be known before the jobs run: names, inputs, cycles, and whether dependencies supply the missing fields.
    ///
    /// Takes time linear in jobs and edges.
    ///
    /// - Parameter kindsOfJobs: The kinds of existing jobs that the submission depends on. A job that is not listed is
    ///   assumed to supply any missing field.
    /// - Returns: The graph to pass to ``JobStore/enqueue(_:now:)``.
    /// - Throws: ``RequestProblem``, the first one found.
    public func plan(
        _ submission: Submission, kindsOfJobs: [JobID: String] = [:]
    ) throws(RequestProblem) -> NewGraph {
        try plan(submission, kindsOfJobs: kindsOfJobs, makesQueues: false)
    }

    private func plan(
        _ submission: Submission, kindsOfJobs: [JobID: String], makesQueues: Bool
    ) throws(RequestProblem) -> NewGraph {
        if case .after(let wait) = submission.start, wait < .zero || wait > Submission.longestWait {
            throw .waitOutOfRange
        }
        if let key = submission.key { try Submission.check(key: key) }
        let (jobs, name, isGraph) = try requests(of: submission)
        guard jobs.count <= Submission.maxJobs else { throw .tooManyJobs(jobs.count) }
        var planner = Planner(
            catalog: self, requests: jobs, start: submission.start, kindsOfJobs: kindsOfJobs,
            existing: submission.after.map { NewDependency(on: .existing($0.job), condition: $0.condition) },
            isLone: jobs.count == 1 && !isGraph, makesQueues: makesQueues)
        return NewGraph(
            name: name, isGraph: isGraph, jobs: try planner.plan(),
            key: submission.idempotencyKey)
    }

    /// All problems of a submission that waits for no other job; empty if it can be planned. Of unknown parameters,
    /// only the first twenty are reported.
    func problems(of submission: Submission) -> [RequestProblem] {
        var submission = submission
        let unknown = takeUnknownParameters(of: &submission)
        do throws(RequestProblem) {
            let (jobs, _, isGraph) = try requests(of: submission)
            var planner = Planner(
                catalog: self, requests: jobs, start: .now, kindsOfJobs: [:], existing: [],
                isLone: jobs.count == 1 && !isGraph, makesQueues: false)
            let found = unknown + planner.problems()
            // A field may be missing because it was given under a wrong name.
            return found.contains(where: \.isUnknownField) ? found.filter { !$0.isMissingField } : found
        } catch {
            return unknown + [error]
        }
    }

    private func takeUnknownParameters(of submission: inout Submission) -> [RequestProblem] {
        guard case .definition(let name) = submission.work, let graph = graphs[name],
            let input = submission.input.flatMap(JSONObject.init)
        else { return [] }
        let targets = targets(of: graph)
        var known = JSONObject()
        for (name, value) in input.fields where targets[name] != nil { known.append(name, value) }
        let unknown = input.names.lazy.filter { targets[$0] == nil }.prefix(20)
        guard !unknown.isEmpty else { return [] }
        submission.input = known.text
        return unknown.map { .unknownParameter($0, graph: graph.name, known: parameterNames(of: graph)) }
    }

    /// Plans a job that a running job enqueues. Its queue need not exist, because the store creates it.
    ///
    /// - Throws: ``RequestProblem``, the first one found.
    public func plan(_ child: ChildJob) throws(RequestProblem) -> NewGraph {
        try plan(
            Submission(
                .definition(child.definition), input: child.input, queue: child.queue, priority: child.priority),
            kindsOfJobs: [:], makesQueues: true)
    }

    private func requests(
        of submission: Submission
    ) throws(RequestProblem) -> (jobs: [JobRequest], name: String?, isGraph: Bool) {
        switch submission.work {
        case .jobs(var jobs, let name):
            if submission.input != nil { throw .inputForJobs }
            if let name, !(1...Submission.maxNameBytes).contains(name.utf8.count) {
                throw .badGraphName(bytes: name.utf8.count)
            }
            if let hidden = name.flatMap({ HiddenCharacter(in: $0) }) {
                throw .hiddenCharacter(hidden, field: "the graph's name")
            }
            if submission.queue != nil || submission.priority != nil {
                for index in jobs.indices {
                    jobs[index].queue = jobs[index].queue ?? submission.queue
                    jobs[index].priority = jobs[index].priority ?? submission.priority
                }
            }
            return (jobs, name, jobs.count > 1 || name != nil)
        case .definition(let name):
            if let graph = graphs[name] { return (try expand(graph, submission), name, true) }
            let job = JobRequest(
                definition: name, input: submission.input, queue: submission.queue, priority: submission.priority)
            return ([job], nil, false)
        }
    }

    /// The jobs of a graph definition, with the submission's input distributed to its nodes.
    private func expand(
        _ graph: GraphDefinition, _ submission: Submission
    ) throws(RequestProblem) -> [JobRequest] {
        let given = try distribute(submission.input, over: graph)
        return graph.nodes.map { node in
            var input = node.input.flatMap(JSONObject.init) ?? JSONObject()
            if let explicit = given[node.name] { input = input.overlaid(by: explicit) }
            return JobRequest(
                node: node.name, definition: node.definition, input: input.isEmpty ? nil : input.text,
                queue: submission.queue ?? node.queue, priority: submission.priority ?? node.priority,
                after: node.after.map { .init(.node($0.node), condition: $0.condition) })
        }
    }

    private func distribute(
        _ input: JSONText?, over graph: GraphDefinition
    ) throws(RequestProblem) -> [String: JSONObject] {
        guard let input else { return [:] }
        guard let object = JSONObject(input) else {
            throw .badInput(.notAnObject(found: input.shape), job: nil)
        }
        let targets = targets(of: graph)
        var given: [String: JSONObject] = [:]
        for (name, value) in object.fields {
            guard let target = targets[name] else {
                throw .unknownParameter(name, graph: graph.name, known: parameterNames(of: graph))
            }
            if given[target.node]?[target.field] != nil { throw .givenTwice("\(target.node).\(target.field)") }
            given[target.node, default: JSONObject()][target.field] = value
        }
        return given
    }

    struct Target { let node: String, field: String, kind: KindEntry }

    /// The input fields of a graph definition, by the names that a submission may use: `node.field`, and the
    /// parameters.
    func targets(of graph: GraphDefinition) -> [String: Target] {
        var targets: [String: Target] = [:]
        for node in graph.nodes {
            guard let kind = entries[node.definition]?.kind else { continue }
            for field in kind.fieldNames {
                targets["\(node.name).\(field)"] = Target(node: node.name, field: field, kind: kind)
            }
        }
        for parameter in graph.parameters {
            targets[parameter.name] = targets["\(parameter.node).\(parameter.field)"]
        }
        return targets
    }

    /// The names that a submission may use: first the parameters, in their order, then each `node.field`.
    func parameterNames(of graph: GraphDefinition) -> [String] {
        graph.parameters.map(\.name)
            + graph.nodes.flatMap { node in
                (entries[node.definition]?.kind.fieldNames ?? []).map { "\(node.name).\($0)" }
            }
    }
}

extension RequestProblem {
    fileprivate var isUnknownField: Bool {
        switch self {
        case .badInput(.unknownField, _), .unknownParameter: true
        default: false
        }
    }

    fileprivate var isMissingField: Bool {
        switch self {
        case .badInput(.missingField, _), .badGraph(.doesNotFit): true
        default: false
        }
    }
}

extension Submission {
    /// Checks that a text can be used as an idempotency key: 1 to 255 bytes without hidden characters.
    ///
    /// - Throws: ``RequestProblem/badKey(bytes:)`` or ``RequestProblem/hiddenCharacter(_:field:)``.
    package static func check(key: String) throws(RequestProblem) {
        guard (1...maxNameBytes).contains(key.utf8.count) else { throw .badKey(bytes: key.utf8.count) }
        if let hidden = HiddenCharacter(in: key) { throw .hiddenCharacter(hidden, field: "the key") }
    }
}
