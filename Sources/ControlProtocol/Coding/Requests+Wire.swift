import Jobs

/// Encoded as `finished_before` and `outcomes`.
extension PruneRequest: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("finished_before", "outcomes")
        let outcomes: [Outcome] = try fields.optional("outcomes") ?? Outcome.allCases
        self.init(finishedBefore: try fields.required("finished_before"), outcomes: Set(outcomes))
    }

    func write(to object: inout WireObject) {
        object.add("finished_before", finishedBefore)
        object.add("outcomes", outcomes.sorted { $0.rawValue < $1.rawValue })
    }
}

/// Encoded as `jobs`.
extension CancelRequest: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("jobs")
        self.init(jobs: try fields.required("jobs"))
        guard jobs.count <= Self.maxJobs else {
            throw ShapeProblem("names \(jobs.count) jobs; the limit is \(Self.maxJobs)", at: ["jobs"])
        }
    }

    func write(to object: inout WireObject) { object.add("jobs", jobs) }
}

/// Encoded as `paused`. All other changes of a schedule are made with a document of definitions.
extension ScheduleChange: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("paused")
        self.init(isPaused: try fields.required("paused"))
    }

    func write(to object: inout WireObject) { object.add("paused", isPaused) }
}

/// Encoded as `limit`, `weight`, `paused`, `create` and `name`, which the path of a request may contain
/// instead.
extension QueueRequest: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("name", "limit", "weight", "paused", "create")
        self.init(
            QueueChange(
                name: try fields.required("name"), limit: try fields.optional("limit"),
                weight: try fields.optional("weight"), isPaused: try fields.optional("paused")),
            create: try fields.optional("create") ?? false)
    }

    func write(to object: inout WireObject) {
        object.add("name", change.name)
        object.add("limit", change.limit)
        object.add("weight", change.weight)
        object.add("paused", change.isPaused)
        object.add("create", create ? true : nil)
    }
}
