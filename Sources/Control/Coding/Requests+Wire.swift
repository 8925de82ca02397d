import Jobs

/// `finished_before` and `outcomes`.
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

/// `paused`; everything else of a schedule is changed by a document.
extension ScheduleChange: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("paused")
        self.init(isPaused: try fields.required("paused"))
    }

    func write(to object: inout WireObject) { object.add("paused", isPaused) }
}

/// `limit`, `weight`, `paused`, and `name`, which a path may give instead.
extension QueueChange: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("name", "limit", "weight", "paused")
        self.init(
            name: try fields.required("name"), limit: try fields.optional("limit"),
            weight: try fields.optional("weight"), isPaused: try fields.optional("paused"))
    }

    func write(to object: inout WireObject) {
        object.add("name", name)
        object.add("limit", limit)
        object.add("weight", weight)
        object.add("paused", isPaused)
    }
}
