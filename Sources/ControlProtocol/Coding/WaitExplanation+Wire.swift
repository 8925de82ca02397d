import Jobs

extension WaitExplanation: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            job: try fields.required("job"), state: try fields.required("state"),
            reasons: try fields.required("reasons"))
    }

    func write(to object: inout WireObject) {
        object.add("job", job)
        object.add("state", state)
        object.add("reasons", reasons)
    }
}

/// Encoded with the reason's name in `type`, and its details in other fields.
extension WaitExplanation.Reason: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let type: String = try fields.required("type")
        switch type {
        case "dependency": self = .dependency(try JobDetail.Neighbour(fields: fields))
        case "more_dependencies": self = .moreDependencies(try fields.required("count"))
        case "time": self = .time(until: try fields.required("until"))
        case "retry":
            self = .retry(until: try fields.required("until"), afterCode: try fields.required("after_code"))
        case "queue_paused": self = .queuePaused(queue: try fields.required("queue"))
        case "queue_limit":
            self = .queueLimit(
                queue: try fields.required("queue"), running: try fields.required("running"),
                limit: try fields.required("limit"))
        case "slots": self = .slots(running: try fields.required("running"), limit: try fields.required("limit"))
        case "turn": self = .turn(queue: try fields.required("queue"), ready: try fields.required("ready"))
        case "trial": self = .trial(of: try fields.required("jobs"), until: try fields.required("until"))
        case "no_daemon": self = .noDaemon
        case "running":
            self = .running(attempt: try fields.required("attempt"), since: try fields.required("since"))
        case "final": self = .final(try fields.required("outcome"), try fields.optional("failure"))
        case "unmet": self = .unmet(try JobDetail.Neighbour(fields: fields), try fields.optional("failure"))
        default: throw ShapeProblem("\"\(type)\" is not a reason of this release", at: ["type"])
        }
    }

    func write(to object: inout WireObject) {
        switch self {
        case .dependency(let neighbour):
            object.add("type", "dependency")
            neighbour.write(to: &object)
        case .moreDependencies(let count):
            object.add("type", "more_dependencies")
            object.add("count", count)
        case .time(let until):
            object.add("type", "time")
            object.add("until", until)
        case .retry(let until, let code):
            object.add("type", "retry")
            object.add("until", until)
            object.add("after_code", code)
        case .queuePaused(let queue):
            object.add("type", "queue_paused")
            object.add("queue", queue)
        case .queueLimit(let queue, let running, let limit):
            object.add("type", "queue_limit")
            object.add("queue", queue)
            object.add("running", running)
            object.add("limit", limit)
        case .slots(let running, let limit):
            object.add("type", "slots")
            object.add("running", running)
            object.add("limit", limit)
        case .turn(let queue, let ready):
            object.add("type", "turn")
            object.add("queue", queue)
            object.add("ready", ready)
        case .trial(let jobs, let until):
            object.add("type", "trial")
            object.add("jobs", jobs)
            object.add("until", until)
        case .noDaemon:
            object.add("type", "no_daemon")
        case .running(let attempt, let since):
            object.add("type", "running")
            object.add("attempt", attempt)
            object.add("since", since)
        case .final(let outcome, let failure):
            object.add("type", "final")
            object.add("outcome", outcome)
            object.add("failure", failure)
        case .unmet(let neighbour, let failure):
            object.add("type", "unmet")
            neighbour.write(to: &object)
            object.add("failure", failure)
        }
    }
}
