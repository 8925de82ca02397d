import Jobs
import SQLite

extension Writer {
    /// Unblocks or skips what waits for a job that is now final, and what waits for the skipped ones in turn.
    func settleDependents(of job: JobID, _ outcome: Outcome, now: Timestamp) throws(SQLiteError) {
        var settled = [(job: job, outcome: outcome)]
        while let parent = settled.popLast() {
            settling.dependents.bind(1, parent.job.rawValue)
            while try settling.dependents.step() {
                let dependent = JobID(settling.dependents.integer(0))
                let isMet = settling.dependents.integer(1) == finishedCondition || parent.outcome == .succeeded
                if isMet {
                    try unblock(dependent, now: now)
                } else if try skip(dependent, because: parent.job, parent.outcome, now: now) {
                    settled.append((dependent, .skipped))
                }
            }
        }
    }

    /// Takes one dependency from a blocked job, and lets it go when that was the last.
    private func unblock(_ job: JobID, now: Timestamp) throws(SQLiteError) {
        settling.blocked.bind(1, job.rawValue)
        // Not blocked any more: skipped or cancelled before.
        guard try settling.blocked.step() else { return }
        let pending = settling.blocked.integer(0)
        let dueAt = settling.blocked.timestamp(1)
        let queue = memory.queueIndex(id: settling.blocked.integer(2))
        let graph = settling.blocked.optionalInteger(3).map(GraphID.init(_:))
        settling.blocked.reset()
        if pending > 1 {
            settling.takeDependency.bind(1, job.rawValue)
            try settling.takeDependency.run()
            return
        }
        let isDue = dueAt.map { $0 <= now } ?? true
        let state: JobState = isDue ? .ready : .scheduled
        settling.unblock.bind(1, job.rawValue)
        settling.unblock.bind(2, state.rawValue)
        settling.unblock.bind(3, (isDue ? now : dueAt ?? now).milliseconds)
        try settling.unblock.run()
        count(queue: queue, graph: graph, from: .blocked, to: state, now: now)
        note(job, graph: graph, state: state, attempt: 0, dueAt: isDue ? nil : dueAt)
    }

    /// False when the job is not blocked any more.
    private func skip(
        _ job: JobID, because parent: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) -> Bool {
        settling.blocked.bind(1, job.rawValue)
        guard try settling.blocked.step() else { return false }
        let queue = memory.queueIndex(id: settling.blocked.integer(2))
        let graph = settling.blocked.optionalInteger(3).map(GraphID.init(_:))
        settling.blocked.reset()
        settling.skip.bind(1, job.rawValue)
        settling.skip.bind(2, now.milliseconds)
        try settling.skip.run()
        count(queue: queue, graph: graph, from: .blocked, to: .skipped, now: now)
        note(job, graph: graph, state: .skipped, attempt: 0, cause: .dependency(parent))
        try recordSkip(job, because: parent, outcome, now: now)
        return true
    }

    func recordSkip(
        _ job: JobID, because parent: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) {
        settling.nameOf.bind(1, parent.rawValue)
        let name = try settling.nameOf.step() ? settling.nameOf.string(0) : ""
        settling.nameOf.reset()
        try recordResult(job, attempt: 0, .skipped, .dependency(parent, name: name, outcome), now: now)
    }
}

private let finishedCondition = Int64(DependencyCondition.finished.rawValue)

extension JobFailure {
    static func dependency(_ job: JobID, name: String, _ outcome: Outcome) -> JobFailure {
        let (code, verb) =
            switch outcome {
            case .cancelled: (Code.dependencyCancelled, "was cancelled")
            case .skipped: (Code.dependencySkipped, "was skipped")
            default: (Code.dependencyFailed, "failed")
            }
        return JobFailure(
            code: code,
            message:
                "Its dependency, job \(job) (\(name)), \(verb). See why with \"halyard show \(job)\"; then retry that job."
        )
    }
}

struct SettleStatements: ~Copyable {
    static let dependentsSQL: StaticString = """
        SELECT job_id, condition
        FROM   dependency INDEXED BY dependency_parent
        WHERE  parent_id = :parent
        """
    static let blockedSQL: StaticString = """
        SELECT pending, due_ms, queue_id, graph_id
        FROM   job
        WHERE  id = :job
        AND    state = 0
        """
    static let takeDependencySQL: StaticString = """
        UPDATE job
        SET    pending = pending - 1
        WHERE  id = :job
        AND    state = 0
        """
    static let unblockSQL: StaticString = """
        UPDATE job
        SET    state = ?2, pending = 0, due_ms = ?3
        WHERE  id = ?1
        AND    state = 0
        """
    static let skipSQL: StaticString = """
        UPDATE job
        SET    state = 7, finished_ms = ?2
        WHERE  id = ?1
        AND    state = 0
        """
    static let nameOfSQL: StaticString = """
        SELECT coalesce(job.node, definition.name)
        FROM   job
        JOIN   definition ON definition.id = job.definition_id
        WHERE  job.id = :job
        """

    let dependents: Statement
    let blocked: Statement
    let takeDependency: Statement
    let unblock: Statement
    let skip: Statement
    let nameOf: Statement

    init(_ connection: Connection) {
        dependents = connection.prepare(Self.dependentsSQL)
        blocked = connection.prepare(Self.blockedSQL)
        takeDependency = connection.prepare(Self.takeDependencySQL)
        unblock = connection.prepare(Self.unblockSQL)
        skip = connection.prepare(Self.skipSQL)
        nameOf = connection.prepare(Self.nameOfSQL)
    }
}
