import Jobs

extension WaitExplanation: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(job: fields("job", \.job), state: fields("state", \.state), reasons: fields("reasons", \.reasons))
    }
}

/// Encoded with the reason's name in `type`, and its details in other fields.
extension WaitExplanation.Reason: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
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
        case "queue_limit_per_daemon":
            self = .queueLimitPerDaemon(
                queue: try fields.required("queue"), limit: try fields.required("limit"),
                daemons: try fields.required("daemons"))
        case "slots": self = .slots(running: try fields.required("running"), limit: try fields.required("limit"))
        case "turn": self = .turn(queue: try fields.required("queue"), ready: try fields.required("ready"))
        case "trial": self = .trial(of: try fields.required("jobs"), endsAt: try fields.required("ends_at"))
        case "home":
            self = .home(
                daemon: try fields.required("daemon"), endedAt: try fields.optional("ended_at"),
                drainedAt: try fields.optional("drained_at"))
        case "unserved":
            self = .unserved(
                queue: try fields.optional("queue"), kind: try fields.optional("kind"),
                daemon: try fields.optional("daemon"))
        case "drained": self = .drained(daemons: try fields.required("daemons"))
        case "worker": self = .worker(problem: try fields.required("problem"))
        case "worker_limit":
            self = .workerLimit(
                worker: try fields.required("worker"), running: try fields.required("running"),
                limit: try fields.required("limit"))
        case "suspect": self = .suspect(worker: try fields.required("worker"))
        case "store": self = .store(problem: try fields.required("problem"))
        case "no_daemon": self = .noDaemon
        case "running":
            self = .running(attempt: try fields.required("attempt"), startedAt: try fields.required("started_at"))
        case "final": self = .final(try fields.required("outcome"), try fields.optional("error"))
        case "unmet": self = .unmet(try JobDetail.Neighbour(fields: fields), try fields.optional("error"))
        default: throw ShapeProblem("\"\(type)\" is not a reason of this release", at: ["type"])
        }
    }

    func writeFields(to writer: inout JSONWriter) {
        switch self {
        case .dependency(let neighbour):
            writer.field("type", "dependency")
            neighbour.writeFields(to: &writer)
        case .moreDependencies(let count): writer.fields(["type": "more_dependencies", "count": count])
        case .time(let dueAt): writer.fields(["type": "time", "due_at": dueAt])
        case .retry(let dueAt, let code): writer.fields(["type": "retry", "due_at": dueAt, "after_code": code])
        case .queuePaused(let queue): writer.fields(["type": "queue_paused", "queue": queue])
        case .queueLimit(let queue, let running, let limit):
            writer.fields(["type": "queue_limit", "queue": queue, "running": running, "limit": limit])
        case .queueLimitPerDaemon(let queue, let limit, let daemons):
            writer.fields(["type": "queue_limit_per_daemon", "queue": queue, "limit": limit, "daemons": daemons])
        case .slots(let running, let limit): writer.fields(["type": "slots", "running": running, "limit": limit])
        case .turn(let queue, let ready): writer.fields(["type": "turn", "queue": queue, "ready": ready])
        case .trial(let jobs, let endsAt): writer.fields(["type": "trial", "jobs": jobs, "ends_at": endsAt])
        case .home(let daemon, let endedAt, let drainedAt):
            writer.fields(["type": "home", "daemon": daemon, "ended_at": endedAt, "drained_at": drainedAt])
        case .unserved(let queue, let kind, let daemon):
            writer.fields(["type": "unserved", "queue": queue, "kind": kind, "daemon": daemon])
        case .drained(let daemons): writer.fields(["type": "drained", "daemons": daemons])
        case .worker(let problem): writer.fields(["type": "worker", "problem": problem])
        case .workerLimit(let worker, let running, let limit):
            writer.fields(["type": "worker_limit", "worker": worker, "running": running, "limit": limit])
        case .suspect(let worker): writer.fields(["type": "suspect", "worker": worker])
        case .store(let problem): writer.fields(["type": "store", "problem": problem])
        case .noDaemon: writer.field("type", "no_daemon")
        case .running(let attempt, let startedAt):
            writer.fields(["type": "running", "attempt": attempt, "started_at": startedAt])
        case .final(let outcome, let error): writer.fields(["type": "final", "outcome": outcome, "error": error])
        case .unmet(let neighbour, let error):
            writer.field("type", "unmet")
            neighbour.writeFields(to: &writer)
            writer.field("error", error)
        }
    }
}
