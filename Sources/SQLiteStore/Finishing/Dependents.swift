import Jobs
import SQLite

extension Writer {
    /// Unblocks or skips the dependents of a job that is now final, and in turn the dependents of the skipped jobs. One
    /// transaction settles at most ``settlingRows`` edges; later slices settle the rest.
    func settleDependents(of job: JobID, _ outcome: Outcome, now: Timestamp) throws(SQLiteError) {
        try settle([SettlingJob(job: job, outcome: outcome, at: now)])
    }

    func settle(_ jobs: [SettlingJob]) throws(SQLiteError) {
        var settled = jobs
        while var dependency = settled.popLast() {
            settling.dependents.bind(1, dependency.job.rawValue)
            settling.dependents.bind(2, dependency.last.condition)
            settling.dependents.bind(3, dependency.last.job)
            settling.dependents.bind(4, dependency.last.position)
            while try settling.dependents.step() {
                guard settlingRows > 0 else {
                    settling.dependents.reset()
                    return try postpone(settled + [dependency])
                }
                settlingRows -= 1
                let dependent = JobID(settling.dependents.integer(0))
                let condition = settling.dependents.integer(1)
                dependency.last = EdgeKey(
                    condition: Int(condition), job: dependent.rawValue, position: Int(settling.dependents.integer(2)))
                if condition == finishedCondition || dependency.outcome == .succeeded {
                    try unblock(dependent, now: dependency.at)
                } else if let outcome = try end(
                    dependent, because: dependency.job, dependency.outcome, now: dependency.at)
                {
                    settled.append(SettlingJob(job: dependent, outcome: outcome, at: dependency.at))
                }
            }
        }
    }

    /// Skips a job that can no longer run, or cancels it if its cancellation was requested.
    ///
    /// - Returns: The job's outcome; nil if the job was no longer blocked.
    private func end(
        _ job: JobID, because dependency: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) -> Outcome? {
        if isCancelling, try cancelIfAsked(job, now: now) { return .cancelled }
        return try skip(job, because: dependency, outcome, now: now) ? .skipped : nil
    }

    /// Removes one pending dependency from a blocked job, and unblocks the job if that was the last.
    func unblock(_ job: JobID, now: Timestamp) throws(SQLiteError) {
        settling.blocked.bind(1, job.rawValue)
        // The job is no longer blocked: it was skipped or cancelled.
        guard try settling.blocked.step() else { return }
        let pending = settling.blocked.integer(0)
        let dueAt = settling.blocked.timestamp(1)
        let queueID = settling.blocked.integer(2)
        let graph = settling.blocked.optionalInteger(3).map(GraphID.init(_:))
        let waitEnd = settling.blocked.timestamp(4)
        settling.blocked.reset()
        let queue = try memory.queueIndex(id: queueID)
        if pending > 1 {
            settling.takeDependency.bind(1, job.rawValue)
            try settling.takeDependency.run()
            return
        }
        let isDue = waitEnd.map { $0 <= steady.moment } ?? dueAt.map { $0 <= now } ?? true
        let state: JobState = isDue ? .ready : .scheduled
        settling.unblock.bind(1, job.rawValue)
        settling.unblock.bind(2, state.rawValue)
        settling.unblock.bind(3, (isDue ? now : dueAt ?? now).milliseconds)
        settling.unblock.bind(4, isDue ? steady.now : waitEnd?.milliseconds)
        try settling.unblock.run()
        count(queue: queue, graph: graph, from: .blocked, to: state, now: now)
        let endsAt = waitEnd.map { steady.wallTime(ofWaitEnd: $0.milliseconds) } ?? dueAt
        note(job, graph: graph, state: state, attempt: 0, dueAt: isDue ? nil : endsAt)
    }

    /// Skips a job because its dependency `dependency` ended with `outcome`.
    ///
    /// - Returns: False if the job is no longer blocked.
    func skip(
        _ job: JobID, because dependency: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) -> Bool {
        settling.blocked.bind(1, job.rawValue)
        guard try settling.blocked.step() else { return false }
        let queueID = settling.blocked.integer(2)
        let graph = settling.blocked.optionalInteger(3).map(GraphID.init(_:))
        settling.blocked.reset()
        let queue = try memory.queueIndex(id: queueID)
        settling.skip.bind(1, job.rawValue)
        settling.skip.bind(2, now.milliseconds)
        try settling.skip.run()
        count(queue: queue, graph: graph, from: .blocked, to: .skipped, now: now)
        note(job, graph: graph, state: .skipped, attempt: 0, cause: .dependency(dependency))
        try recordSkip(job, because: dependency, outcome, now: now)
        return true
    }

    func recordSkip(
        _ job: JobID, because dependency: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) {
        settling.nameOf.bind(1, dependency.rawValue)
        let isKnown = try settling.nameOf.step()
        let dependency = Culprit(job: dependency, name: isKnown ? settling.nameOf.string(0) : "", outcome: outcome)
        var first = dependency
        // The result of a skipped dependency names the job that caused the first skip.
        if isKnown, outcome == .skipped, let job = settling.nameOf.optionalInteger(1),
            let outcome = Outcome(name: settling.nameOf.string(3))
        {
            first = Culprit(job: JobID(job), name: settling.nameOf.string(2), outcome: outcome)
        }
        settling.nameOf.reset()
        try recordResult(job, attempt: 0, .skipped, .dependency(dependency, first: first), now: now)
    }
}

private let finishedCondition = Int64(DependencyCondition.finished.rawValue)

/// A job that caused other jobs to be skipped.
private struct Culprit {
    var job: JobID
    var name: String
    var outcome: Outcome

    var verb: String {
        switch outcome {
        case .cancelled: "was cancelled"
        case .skipped: "was skipped"
        default: "failed"
        }
    }

    var json: JSONText {
        var object = JSONObject()
        object["job"] = JSONText(trusted: Array("\(job)".utf8))
        object["name"] = JSONText(string: name)
        object["outcome"] = JSONText(string: outcome.name)
        return object.text
    }
}

extension JobFailure {
    /// - Parameter first: The job that caused the first skip: the dependency itself, unless it was skipped because of
    ///   another job.
    fileprivate static func dependency(_ dependency: Culprit, first: Culprit) -> JobFailure {
        let code =
            switch dependency.outcome {
            case .cancelled: Code.dependencyCancelled
            case .skipped: Code.dependencySkipped
            default: Code.dependencyFailed
            }
        let cause = first.job == dependency.job ? "" : ", because job \(first.job) (\(first.name)) \(first.verb)"
        return JobFailure(
            code: code,
            message:
                "Its dependency, job \(dependency.job) (\(dependency.name)), \(dependency.verb)\(cause). See why with \"halyard show \(first.job)\"; retry the jobs with \"halyard retry --dependents \(first.job)\".",
            detail: first.json)
    }
}

struct SettleStatements: ~Copyable {
    static let dependentsSQL: SQL = """
        SELECT   dependent_id, condition, position
        FROM     dependency INDEXED BY dependency_dependents
        WHERE    dependency_id = ?1
        AND      (condition, dependent_id, position) > (?2, ?3, ?4)
        ORDER BY condition, dependent_id, position
        """
    static let keepSQL: SQL = """
        INSERT OR REPLACE INTO settling (job_id, outcome, at_ms, last_condition, last_job_id, last_position)
        VALUES (:job, :outcome, :at, :condition, :dependent, :position)
        """
    static let forgetSQL: SQL = "DELETE FROM settling WHERE job_id = :job"
    static let blockedSQL: SQL = """
        SELECT pending, due_ms, queue_id, graph_id, steady_ms
        FROM   job
        WHERE  id = :job
        AND    state = 0
        """
    static let takeDependencySQL: SQL = """
        UPDATE job
        SET    pending = pending - 1
        WHERE  id = :job
        AND    state = 0
        """
    static let unblockSQL: SQL = """
        UPDATE job
        SET    state = ?2, pending = 0, due_ms = ?3, steady_ms = ?4
        WHERE  id = ?1
        AND    state = 0
        """
    static let skipSQL: SQL = """
        UPDATE job
        SET    state = 7, finished_ms = ?2
        WHERE  id = ?1
        AND    state = 0
        """
    static let nameOfSQL: SQL = """
        SELECT    coalesce(job.node, definition.name),
                  json_extract(result.detail, '$.job'), json_extract(result.detail, '$.name'),
                  json_extract(result.detail, '$.outcome')
        FROM      job
        JOIN      definition ON definition.id = job.definition_id
        LEFT JOIN result ON result.job_id = job.id AND result.outcome = 7
        WHERE     job.id = :job
        """

    let dependents: Statement
    let blocked: Statement
    let takeDependency: Statement
    let unblock: Statement
    let skip: Statement
    let nameOf: Statement
    let keep: Statement
    let forget: Statement

    init(_ connection: Connection) {
        dependents = connection.prepare(Self.dependentsSQL)
        blocked = connection.prepare(Self.blockedSQL)
        takeDependency = connection.prepare(Self.takeDependencySQL)
        unblock = connection.prepare(Self.unblockSQL)
        skip = connection.prepare(Self.skipSQL)
        nameOf = connection.prepare(Self.nameOfSQL)
        keep = connection.prepare(Self.keepSQL)
        forget = connection.prepare(Self.forgetSQL)
    }
}
