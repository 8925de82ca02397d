import Jobs
import OperationTypes

extension JobRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            id: try fields.required("id"), graph: try fields.optional("graph"), node: try fields.optional("node"),
            definition: try fields.required("definition"),
            definitionRevision: try fields.required("definition_revision"), kind: try fields.required("kind"),
            queue: try fields.required("queue"), priority: try fields.required("priority"),
            state: try fields.required("state"), input: fields.payload("input"),
            attempt: try fields.required("attempt"), tries: try fields.required("tries"),
            maxTries: try fields.required("max_tries"), rescues: try fields.required("rescues"),
            pendingDependencies: try fields.required("pending_dependencies"),
            enqueuedAt: try fields.required("enqueued_at"), dueAt: try fields.optional("due_at"),
            startedAt: try fields.optional("started_at"), finishedAt: try fields.optional("finished_at"),
            cancelRequestedAt: try fields.optional("cancel_requested_at"), repeats: try fields.optional("repeats"))
    }

    func write(to object: inout WireObject) {
        object.add("id", id)
        object.add("graph", graph)
        object.add("node", node)
        object.add("definition", definition)
        object.add("definition_revision", definitionRevision)
        object.add("kind", kind)
        object.add("queue", queue)
        object.add("priority", priority)
        object.add("state", state)
        object.add(payload: "input", input)
        object.add("attempt", attempt)
        object.add("tries", tries)
        object.add("max_tries", maxTries)
        object.add("rescues", rescues)
        object.add("pending_dependencies", pendingDependencies)
        object.add("enqueued_at", enqueuedAt)
        object.add("due_at", dueAt)
        object.add("started_at", startedAt)
        object.add("finished_at", finishedAt)
        object.add("cancel_requested_at", cancelRequestedAt)
        object.add("repeats", repeats)
    }
}

extension JobFailure: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            code: try fields.required("code"), message: try fields.required("message"),
            detail: fields.payload("detail"))
    }

    func write(to object: inout WireObject) {
        object.add("code", code)
        object.add("message", message)
        object.add(payload: "detail", detail)
    }
}

/// Encoded with `output` if the job succeeded, otherwise with `failure`.
extension JobResult: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let outcome: Outcome = try fields.required("outcome")
        let value: Value =
            if outcome == .succeeded {
                // The output itself may be null.
                .succeeded(fields.payload("output") ?? JSONText(trusted: Array("null".utf8)))
            } else {
                .ended(outcome, try fields.required("failure"))
            }
        self.init(
            job: try fields.required("job"), attempt: try fields.required("attempt"), value: value,
            finishedAt: try fields.required("finished_at"))
    }

    func write(to object: inout WireObject) {
        object.add("job", job)
        object.add("outcome", outcome)
        object.add("attempt", attempt)
        object.add("finished_at", finishedAt)
        switch value {
        case .succeeded(let output): object.add(payload: "output", output)
        case .ended(_, let failure): object.add("failure", failure)
        }
    }
}

extension AttemptRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            lease: Lease(job: try fields.required("job"), attempt: try fields.required("attempt")),
            outcome: try fields.required("outcome"), startedAt: try fields.required("started_at"),
            endedAt: try fields.required("ended_at"), failure: try fields.optional("failure"),
            retryAt: try fields.optional("retry_at"), connections: fields.payload("connections"))
    }

    func write(to object: inout WireObject) {
        object.add("job", lease.job)
        object.add("attempt", lease.attempt)
        object.add("outcome", outcome)
        object.add("started_at", startedAt)
        object.add("ended_at", endedAt)
        object.add("failure", failure)
        object.add("retry_at", retryAt)
        object.add(payload: "connections", connections)
    }
}

extension DependencyRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            dependent: try fields.required("dependent"), dependency: try fields.required("dependency"),
            condition: try fields.required("condition"))
    }

    func write(to object: inout WireObject) {
        object.add("dependent", dependent)
        object.add("dependency", dependency)
        object.add("condition", condition)
    }
}

extension GraphRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            id: try fields.required("id"), name: try fields.optional("name"),
            enqueuedAt: try fields.required("enqueued_at"), finishedAt: try fields.optional("finished_at"),
            counts: try fields.required("counts"))
    }

    func write(to object: inout WireObject) {
        object.add("id", id)
        object.add("name", name)
        object.add("enqueued_at", enqueuedAt)
        object.add("finished_at", finishedAt)
        object.add("counts", counts)
    }
}

/// Encoded with the count of every state by name, including states without jobs.
extension StateCounts: WireValue {
    public init(json: JSONText) throws(ShapeProblem) {
        let fields = try WireFields(json)
        self.init()
        for state in JobState.allCases { self[state] = try fields.optional(state.name) ?? 0 }
    }

    public func appendJSON(to bytes: inout [UInt8]) {
        let counts = JobState.allCases.map { "\"\($0.name)\":\(self[$0])" }
        bytes.append(contentsOf: "{\(counts.joined(separator: ","))}".utf8)
    }
}

extension QueueRecord: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            settings: try QueueSettings(fields: fields), pausedAt: try fields.optional("paused_at"),
            counts: try fields.required("counts"))
    }

    func write(to object: inout WireObject) {
        settings.write(to: &object)
        object.add("paused", pausedAt != nil)
        object.add("paused_at", pausedAt)
        object.add("counts", counts)
    }
}

extension QueueSettings: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            name: try fields.required("name"), limit: try fields.required("limit"),
            weight: try fields.required("weight"))
    }

    func write(to object: inout WireObject) {
        object.add("name", name)
        object.add("limit", limit)
        object.add("weight", weight)
    }
}

extension OperationProgress: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            completed: try fields.required("completed"), total: try fields.optional("total"),
            unit: try fields.required("unit"))
    }

    func write(to object: inout WireObject) {
        object.add("completed", completed)
        object.add("total", total)
        object.add("unit", unit)
    }
}
