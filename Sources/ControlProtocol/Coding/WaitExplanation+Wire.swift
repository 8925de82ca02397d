import Jobs

extension WaitExplanation: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(job: fields("job", \.job), state: fields("state", \.state), reasons: fields("reasons", \.reasons))
    }
}

/// Encoded with the reason's name in `type`, and its details in other fields.
extension WaitExplanation.Reason: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let type: String = try fields.required("type")
        switch type {
        case "dependency": self = .dependency(try JobDetail.Neighbour(fields: fields))
        case "more_dependencies": self = .moreDependencies(try fields.required("count"))
        case "time": self = .time(dueAt: try fields.required("due_at"))
        case "retry":
            self = .retry(dueAt: try fields.required("due_at"), afterCode: try fields.required("after_code"))
        case "queue_paused": self = .queuePaused(queue: try fields.required("queue"))
        case "queue_limit":
            self = .queueLimit(
                queue: try fields.required("queue"), running: try fields.required("running"),
                limit: try fields.required("limit"))
        case "slots": self = .slots(running: try fields.required("running"), limit: try fields.required("limit"))
        case "turn": self = .turn(queue: try fields.required("queue"), ready: try fields.required("ready"))
        case "trial": self = .trial(of: try fields.required("jobs"), endsAt: try fields.required("ends_at"))
        case "no_daemon": self = .noDaemon
        case "running":
            self = .running(attempt: try fields.required("attempt"), startedAt: try fields.required("started_at"))
        case "final": self = .final(try fields.required("outcome"), try fields.optional("error"))
        case "unmet": self = .unmet(try JobDetail.Neighbour(fields: fields), try fields.optional("error"))
        default: throw ShapeProblem("\"\(type)\" is not a reason of this release", at: ["type"])
        }
    }

    func write(to object: inout WireObject) {
        switch self {
        case .dependency(let neighbour):
            object.add("type", "dependency")
            neighbour.write(to: &object)
        case .moreDependencies(let count): object.add(["type": "more_dependencies", "count": count])
        case .time(let dueAt): object.add(["type": "time", "due_at": dueAt])
        case .retry(let dueAt, let code): object.add(["type": "retry", "due_at": dueAt, "after_code": code])
        case .queuePaused(let queue): object.add(["type": "queue_paused", "queue": queue])
        case .queueLimit(let queue, let running, let limit):
            object.add(["type": "queue_limit", "queue": queue, "running": running, "limit": limit])
        case .slots(let running, let limit): object.add(["type": "slots", "running": running, "limit": limit])
        case .turn(let queue, let ready): object.add(["type": "turn", "queue": queue, "ready": ready])
        case .trial(let jobs, let endsAt): object.add(["type": "trial", "jobs": jobs, "ends_at": endsAt])
        case .noDaemon: object.add("type", "no_daemon")
        case .running(let attempt, let startedAt):
            object.add(["type": "running", "attempt": attempt, "started_at": startedAt])
        case .final(let outcome, let error): object.add(["type": "final", "outcome": outcome, "error": error])
        case .unmet(let neighbour, let error):
            object.add("type", "unmet")
            neighbour.write(to: &object)
            object.add("error", error)
        }
    }
}
