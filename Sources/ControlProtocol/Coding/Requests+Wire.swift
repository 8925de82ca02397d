import Jobs

/// Encoded as `finished_before` and `outcomes`.
extension PruneRequest: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("finished_before", "outcomes")
        try self.init(
            finishedBefore: fields("finished_before", \.finishedBefore),
            outcomes: Set(fields("outcomes", \.sortedOutcomes) ?? Outcome.allCases))
    }

    private var sortedOutcomes: [Outcome]? { outcomes.sorted { $0.rawValue < $1.rawValue } }
}

/// Encoded as `jobs`.
extension CancelRequest: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("jobs")
        try self.init(jobs: fields("jobs", \.jobs))
        guard jobs.count <= Self.maxJobs else {
            throw ShapeProblem("names \(jobs.count) jobs; the limit is \(Self.maxJobs)", at: ["jobs"])
        }
    }
}

/// Encoded as `paused`. All other changes to a schedule are made with a document of definitions.
extension ScheduleChange: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("paused")
        try self.init(isPaused: fields("paused", \.isPaused))
    }
}

/// Encoded as `name`, `limit`, `limit_per_daemon`, `weight`, `paused` and `create`. The path of a request may contain
/// the name instead.
extension QueueRequest: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("name", "limit", "limit_per_daemon", "weight", "paused", "create")
        try self.init(
            QueueChange(
                name: fields.optional("name", \.change.name) ?? "", limit: fields("limit", \.change.limit),
                limitPerDaemon: fields("limit_per_daemon", \.change.limitPerDaemon),
                weight: fields("weight", \.change.weight), isPaused: fields("paused", \.change.isPaused)),
            create: fields("create") { $0.create ? true : nil } ?? false)
    }
}

/// Encoded as a number, or as `"none"`.
extension DaemonLimit: WireValue {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(json: json, at: []) }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .unlimited: Self.unlimitedName.write(to: &writer)
        case .atMost(let number): number.write(to: &writer)
        }
    }
}
