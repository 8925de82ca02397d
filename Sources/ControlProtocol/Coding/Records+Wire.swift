import Jobs
import OperationTypes

extension JobRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            id: fields("job", \.id), graph: fields("graph", \.graph), node: fields("node", \.node),
            definition: fields("definition", \.definition),
            definitionRevision: fields("definition_revision", \.definitionRevision), kind: fields("kind", \.kind),
            queue: fields("queue", \.queue), priority: fields("priority", \.priority), state: fields("state", \.state),
            input: fields("input", \.input), attempt: fields("attempt", \.attempt), tries: fields("tries", \.tries),
            maxTries: fields("max_tries", \.maxTries), rescues: fields("rescues", \.rescues),
            pendingDependencies: fields("pending_dependencies", \.pendingDependencies),
            enqueuedAt: fields("enqueued_at", \.enqueuedAt), dueAt: fields("due_at", \.dueAt),
            startedAt: fields("started_at", \.startedAt), finishedAt: fields("finished_at", \.finishedAt),
            cancelRequestedAt: fields("cancel_requested_at", \.cancelRequestedAt),
            repeats: fields("repeats", \.repeats))
    }
}

extension JobFailure: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            code: fields("code", \.code), message: fields("message", \.message), detail: fields("detail", \.detail))
    }
}

/// Encoded with `value` if the job succeeded, otherwise with `error`.
extension JobResult: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let job = try fields("job", \.job)
        let outcome = try fields("outcome", \.outcome)
        let attempt = try fields("attempt", \.attempt)
        let finishedAt = try fields("finished_at", \.finishedAt)
        let value: Value =
            if outcome == .succeeded {
                // The value itself may be null.
                .succeeded(try fields("value", \.succeededValue) ?? .null)
            } else {
                .ended(outcome, try fields.required("error", \.error))
            }
        self.init(job: job, attempt: attempt, value: value, finishedAt: finishedAt)
    }

    private var succeededValue: JSONText? { if case .succeeded(let value) = value { value } else { nil } }
    private var error: JobFailure? { if case .ended(_, let error) = value { error } else { nil } }
}

extension AttemptUsage: WireValue {
    public func write(to writer: inout JSONWriter) { writer.value(json.bytes) }
}

extension AttemptRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            lease: Lease(job: fields("job", \.lease.job), attempt: fields("attempt", \.lease.attempt)),
            outcome: fields("outcome", \.outcome), startedAt: fields("started_at", \.startedAt),
            endedAt: fields("ended_at", \.endedAt), error: fields("error", \.error),
            retryAt: fields("retry_at", \.retryAt), connections: fields("connections", \.connections),
            usage: fields("usage", \.usage))
    }
}

extension Checkpoint: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let attempt = try fields("attempt", \.attempt)
        let savedAt = try fields("saved_at", \.savedAt)
        // The value itself may be null.
        let value = try fields("value") { $0.value as JSONText? } ?? .null
        self.init(attempt: attempt, savedAt: savedAt, value: value)
    }
}

extension DependencyRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            dependent: fields("dependent", \.dependent), dependency: fields("dependency", \.dependency),
            condition: fields("condition", \.condition))
    }
}

extension GraphRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            id: fields("graph", \.id), name: fields("name", \.name), enqueuedAt: fields("enqueued_at", \.enqueuedAt),
            finishedAt: fields("finished_at", \.finishedAt), counts: fields("counts", \.counts))
    }
}

/// Encoded with the count of every state by name, including states without jobs.
extension StateCounts: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
        self.init()
        for state in JobState.allCases { self[state] = try fields.optional(state.name) ?? 0 }
    }

    func writeFields(to writer: inout JSONWriter) {
        for state in JobState.allCases { writer.field(state.name, self[state]) }
    }
}

extension QueueRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let settings = try fields.part(\.settings)
        fields.derived("paused") { $0.pausedAt != nil }
        try self.init(settings: settings, pausedAt: fields("paused_at", \.pausedAt), counts: fields("counts", \.counts))
    }
}

extension QueueSettings: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            name: fields("name", \.name), limit: fields("limit", \.limit),
            limitPerDaemon: fields("limit_per_daemon", \.limitPerDaemon), weight: fields("weight", \.weight))
    }
}

extension OperationProgress: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            completed: fields("completed", \.completed), total: fields("total", \.total), unit: fields("unit", \.unit))
    }
}
