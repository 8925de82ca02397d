import Jobs

/// The verbs for jobs.
public protocol JobVerbs: Sendable {
    /// Accepts each submission completely or not at all. The answers are in the order of the submissions, and a
    /// refusal does not affect the other submissions.
    ///
    /// If the daemon cannot continue, the submissions that it has accepted stay accepted, and the others are
    /// refused with the reason. Repeating a submission is safe only if it has a key.
    ///
    /// - Throws: ``ControlProblem``. Then no submission is known to be accepted.
    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Enqueues submissions given as JSON, like `enqueue(_:)`, and returns one answer for each. Invalid JSON
    /// is refused.
    ///
    /// - Throws: ``ControlProblem``, as `enqueue(_:)` does.
    func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Returns a job with its result, attempts and neighbours.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func job(_ id: JobID) async throws(ControlProblem) -> JobDetail
    /// Returns the jobs that match a filter, in its order, in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, `invalidRequest` if the filter's limit is not 1 to 10,000.
    func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord>
    /// Returns the final result; nil if the job is not final.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult?
    /// Waits for the final result. Returns nil if the job is still not final after `waiting`.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job, `unavailable` if the daemon stops
    ///   during the wait. Repeating the call is safe.
    func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult?
    /// Cancels jobs together, so that none is skipped or started because of another, and returns one answer for
    /// each, in order. An unknown job gets the answer `CancelResult.unknown`.
    ///
    /// A running job is only asked to stop, so it may still succeed. The daemon cancels up to 10,000 jobs
    /// together; a longer list is divided.
    ///
    /// - Throws: ``ControlProblem``, `notFound` for an unknown graph. Repeating the call is safe.
    func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer]
    /// Enqueues a new job that repeats a finished one, with the stored results of its dependencies as inputs.
    ///
    /// - Parameters:
    ///   - dependents: Whether to also repeat, in the same graph, the dependents that were skipped because of
    ///     the job, and their other dependencies that did not succeed.
    ///   - key: The caller's name for this request, as in `Submission.key`. Repeating the request then
    ///     enqueues nothing more and returns the same receipt. Without a key, repeating it after
    ///     `unknownOutcome` may enqueue the job twice.
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job, `conflict` if it is not final,
    ///   `unmetDependency` if a dependency ended without meeting its condition or was deleted,
    ///   `unknownDefinition` if its definition was removed, `keyReused` if the key belongs to another request,
    ///   `invalidInput` if it needs a file that was removed.
    func retry(_ id: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt
    /// Explains why a job is not running, or how it ended.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation
    /// Deletes final jobs permanently, in small transactions, so that running jobs do not wait long.
    ///
    /// If it throws or its task is cancelled, the jobs deleted so far stay deleted. Repeating the call is safe.
    ///
    /// - Returns: The number of deleted jobs, and of jobs that were kept although they match.
    /// - Throws: ``ControlProblem``.
    func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer
}

extension JobVerbs {
    /// Accepts one submission completely or not at all. If its key was used before for the same request,
    /// returns the first receipt.
    ///
    /// - Throws: ``ControlProblem``, also for a refused submission. After
    ///   ``ControlProblem/Code/unknownOutcome``, retrying is safe only with a key.
    public func enqueue(_ submission: Submission) async throws(ControlProblem) -> EnqueueReceipt {
        guard let answer = try await enqueue([submission]).first else {
            throw .noResponse
        }
        return try answer.receipt()
    }

    public func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer] {
        var parsed: [Submission] = []
        var answers: [SubmissionAnswer?] = []
        for json in submissions {
            do throws(ShapeProblem) {
                parsed.append(try Submission(json: json))
                answers.append(nil)
            } catch {
                answers.append(.refused(ControlProblem(error)))
            }
        }
        var given = try await enqueue(parsed)[...]
        return answers.map { answer in
            answer ?? given.popFirst() ?? .refused(.noResponse)
        }
    }

    /// Enqueues a new job that repeats a finished one, without a key.
    ///
    /// - Throws: ``ControlProblem``, as ``retry(_:dependents:key:)`` does. After `unknownOutcome`, repeating
    ///   the call may enqueue the job twice.
    public func retry(_ id: JobID, dependents: Bool) async throws(ControlProblem) -> EnqueueReceipt {
        try await retry(id, dependents: dependents, key: nil)
    }

    /// Returns a job's record without its result, attempts and neighbours, which may be large.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    public func record(_ id: JobID) async throws(ControlProblem) -> JobRecord {
        // The filter returns the first job from this number on.
        let before = id.rawValue > 1 ? JobID(id.rawValue - 1) : nil
        let found = try await jobs(JobFilter(after: before, order: .oldestFirst, limit: 1)).first
        guard let found, found.id == id else { throw .noJob(id) }
        return found
    }

    /// Returns all of ``pages(_:)``.
    public func jobs(_ filter: JobFilter) async throws(ControlProblem) -> [JobRecord] {
        try await pages(filter).all()
    }
}

extension JobControl {
    public func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult? {
        if let result = try await result(id) { return result }
        let events = try await watch(.job(id))
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await event in events where event == .final { return } }
                group.addTask { try await Task.sleep(for: waiting) }
                try await group.next()
                group.cancelAll()
            }
        } catch let problem as ControlProblem {
            throw problem
        } catch {
            throw ControlProblem(.unavailable, "The wait for job \(id) was cancelled.")
        }
        return try await result(id)
    }
}

/// The jobs to cancel.
public enum CancelTarget: Sendable, Hashable {
    /// These jobs together.
    case jobs([JobID])
    /// All jobs of a graph.
    case graph(GraphID)
}

extension CallingControl {
    public func job(_ id: JobID) async throws(ControlProblem) -> JobDetail {
        try await value(of: Call(.get, "jobs", "\(id)"))
    }

    public func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord> {
        var call = Call(.get, "jobs")
        call.query = filter.query
        return Pages(try await value(of: call))
    }

    public func result(_ id: JobID) async throws(ControlProblem) -> JobResult? {
        try await result(of: Call(.get, "jobs", "\(id)", "result"))
    }

    public func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult? {
        let end = ContinuousClock.now + waiting
        while true {
            let wait = max(.zero, min(end - .now, maxWait))
            var call = Call(.get, "jobs", "\(id)", "result").with(query: ("wait", wait.human))
            call.extraTime = wait
            if let result = try await result(of: call) { return result }
            if ContinuousClock.now >= end { return nil }
        }
    }

    /// Returns nil for a response without a body, which means that the job is not final.
    private func result(of call: Call) async throws(ControlProblem) -> JobResult? {
        let body = try await send(call)
        return body.isEmpty ? nil : try JobResult(response: body)
    }

    public func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer] {
        switch target {
        case .graph(let id): return try await value(of: Call(.post, "graphs", "\(id)", "cancel"))
        case .jobs(let ids):
            var answers: [CancelAnswer] = []
            var rest = ids[...]
            while !rest.isEmpty {
                let request = CancelRequest(jobs: Array(rest.prefix(CancelRequest.maxJobs)))
                let given: [CancelAnswer] = try await value(of: Call(.post, "jobs", "cancel").with(request.json))
                guard given.map(\.job) == request.jobs else {
                    throw ControlProblem(
                        .unknownOutcome, "The daemon did not report a result for every job. Check with: halyard list")
                }
                answers += given
                rest = rest.dropFirst(request.jobs.count)
            }
            return answers
        }
    }

    public func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation {
        try await value(of: Call(.get, "jobs", "\(id)", "why"))
    }

    public func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer {
        var call = Call(.post, "prune").with(request.json)
        // Deleting millions of rows takes many small transactions.
        call.extraTime = .seconds(3600)
        return try await value(of: call)
    }
}

/// How long the daemon waits for a result in one request.
private let maxWait = Duration.seconds(3600)

extension Route {
    static func jobs(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "jobs") { request in
                let filter: JobFilter
                do throws(ShapeProblem) {
                    filter = try JobFilter(query: request.items)
                } catch {
                    throw ControlProblem(error)
                }
                return .listing(.array(of: try await control.pages(filter)))
            },
            Route(.get, "jobs/{job}") { request in
                let id = try request.job()
                return .large { try await control.job(id).json }
            },
            Route(.get, "jobs/{job}/result") { request in
                let id = try request.job()
                guard let wait = try request.query("wait").duration("wait", atMost: maxWait) else {
                    return try await control.result(id).map { .value($0.json) } ?? .done
                }
                return .slow { try await control.result(id, waiting: wait)?.json }
            },
            Route(.get, "jobs/{job}/why") { .value(try await control.why($0.job()).json) },
            Route(.post, "jobs/cancel") { request in
                let wanted: CancelRequest = try await request.value()
                return .value(try await control.cancel(.jobs(wanted.jobs)).json)
            },
            Route(.post, "jobs/{job}/cancel") { request in
                let id = try request.job()
                let answer = try await control.cancel(.jobs([id])).first
                guard let answer, answer.result != .unknown else {
                    throw ControlProblem(.notFound, "There is no job \(id); it may have been pruned.")
                }
                return .value(answer.json)
            },
            Route(.post, "jobs/{job}/retry") { request in
                let query = try request.query("dependents", "key")
                if let key = query["key"], let inHeader = request.key, key != inHeader {
                    throw ControlProblem(.invalidRequest, "\"key\" and Idempotency-Key differ. Send only one of them.")
                }
                let receipt = try await control.retry(
                    request.job(), dependents: query.flag("dependents"), key: query["key"] ?? request.key)
                return .value(receipt.json, status: 201)
            },
            Route(.post, "prune") { request in
                let wanted: PruneRequest = try await request.value()
                return .slow { try await control.prune(wanted).json }
            },
        ]
    }
}
