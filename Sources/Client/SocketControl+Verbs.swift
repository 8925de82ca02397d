import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func job(_ id: JobID) async throws(ControlProblem) -> JobDetail {
        try await value(of: Call(.GET, "jobs", "\(id)"))
    }

    public func jobs(_ filter: JobFilter) async throws(ControlProblem) -> [JobRecord] {
        var call = Call(.GET, "jobs")
        call.query = filter.query
        return try await value(of: call)
    }

    public func result(_ id: JobID) async throws(ControlProblem) -> JobResult? {
        try await result(of: Call(.GET, "jobs", "\(id)", "result"))
    }

    public func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult? {
        // The daemon waits at most one hour for each request.
        let end = ContinuousClock.now + waiting
        while true {
            let wait = max(.zero, min(end - .now, .seconds(3600)))
            var call = Call(.GET, "jobs", "\(id)", "result").with(query: ("wait", wait.human))
            call.extraTime = wait
            if let result = try await result(of: call) { return result }
            if ContinuousClock.now >= end { return nil }
        }
    }

    /// Returns nil for the status 204, which means that the job is not final.
    private func result(of call: Call) async throws(ControlProblem) -> JobResult? {
        let answer = try await send(call)
        return answer.status == 204 ? nil : try answer.value(JobResult.self)
    }

    public func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer] {
        switch target {
        case .graph(let id): return try await value(of: Call(.POST, "graphs", "\(id)", "cancel"))
        case .jobs(let ids):
            var answers: [CancelAnswer] = []
            var rest = ids[...]
            while !rest.isEmpty {
                let request = CancelRequest(jobs: Array(rest.prefix(CancelRequest.maxJobs)))
                let given: [CancelAnswer] = try await value(of: Call(.POST, "jobs", "cancel").with(request.json))
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

    /// Enqueues a new job that repeats a finished one.
    ///
    /// If `key` is nil, the client adds a unique key, so that it can send the request again when the daemon
    /// restarts or crashes before it answers.
    ///
    /// - Throws: `ControlProblem`. After `unknownOutcome`, repeating the call is safe only with a key.
    public func retry(
        _ id: JobID, dependents: Bool, key: String?
    ) async throws(ControlProblem) -> EnqueueReceipt {
        var call = Call(.POST, "jobs", "\(id)", "retry").with(
            query: ("dependents", "\(dependents)"), ("key", key ?? Self.newKey()))
        call.hasHiddenKey = key == nil
        return try await value(of: call)
    }

    public func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation {
        try await value(of: Call(.GET, "jobs", "\(id)", "why"))
    }

    public func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer {
        var call = Call(.POST, "prune").with(request.json)
        // Deleting millions of rows takes many small transactions.
        call.extraTime = .seconds(3600)
        return try await value(of: call)
    }

    public func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail {
        try await value(of: Call(.GET, "graphs", "\(id)"))
    }

    public func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord] {
        var call = Call(.GET, "graphs").with(query: ("limit", "\(limit)"))
        if let before { call.query.append(("before", "\(before)")) }
        return try await value(of: call)
    }

    public func queues() async throws(ControlProblem) -> [QueueRecord] {
        try await value(of: Call(.GET, "queues"))
    }

    public func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord {
        try await value(of: Call(.PATCH, "queues", queue.name).with(QueueRequest(queue, create: create).json))
    }

    public func removeQueue(_ name: String) async throws(ControlProblem) {
        try await carryOut(Call(.DELETE, "queues", name))
    }

    public func definitions() async throws(ControlProblem) -> DefinitionSet {
        try await value(of: Call(.GET, "definitions"))
    }

    public func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet {
        try await value(of: Call(.GET, "definitions").with(query: ("for", name)))
    }

    public func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine] {
        var call = Call(.PUT, "definitions").with(query: ("dry_run", "\(dryRun)"))
        call.contentType = "application/yaml"
        call.body = Array(document.utf8)
        return try await value(of: call)
    }

    public func removeDefinition(_ name: String) async throws(ControlProblem) {
        try await carryOut(Call(.DELETE, "definitions", name))
    }

    public func exportDefinitions() async throws(ControlProblem) -> String {
        let answer = try await send(Call(.GET, "definitions").with(query: ("format", "yaml")))
        guard answer.isSuccess else { throw answer.problem }
        return String(decoding: answer.body, as: UTF8.self)
    }

    public func schedules() async throws(ControlProblem) -> [ScheduleRecord] {
        try await value(of: Call(.GET, "schedules"))
    }

    public func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord {
        try await value(of: Call(.PATCH, "schedules", name).with(ScheduleChange(isPaused: isPaused).json))
    }

    public func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt {
        var call = Call(.POST, "schedules", name, "run")
        call.isRepeatable = false
        return try await value(of: call)
    }

    public func removeSchedule(_ name: String) async throws(ControlProblem) {
        try await carryOut(Call(.DELETE, "schedules", name))
    }

    public func status() async throws(ControlProblem) -> StatusReport {
        try await value(of: Call(.GET, "status"))
    }

    public func reload() async throws(ControlProblem) { try await carryOut(Call(.POST, "reload")) }
}
