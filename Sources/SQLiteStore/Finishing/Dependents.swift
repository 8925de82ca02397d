import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Unblocks or skips the dependents of a job that is now final, and in turn the dependents of the skipped jobs. One
    /// transaction settles at most ``settlingRows`` edges; later slices settle the rest.
    func settleDependents(of job: JobID, _ outcome: Outcome, now: Timestamp) throws(SQLiteError) {
        try settle([SettlingJob(job: job, outcome: outcome, at: now)])
    }

    func settle(_ jobs: [SettlingJob]) throws(SQLiteError) {
        var settled = jobs
        while var dependency = settled.popLast() {
            let dependents = settling.dependents
            try dependents.bind([
                .dependency <- dependency.job, .condition <- dependency.last.condition,
                .dependent <- dependency.last.dependent, .position <- dependency.last.position,
            ])
            while try dependents.step() {
                guard settlingRows > 0 else {
                    dependents.reset()
                    return try postpone(settled + [dependency])
                }
                settlingRows -= 1
                dependency.last = EdgeKey(dependents, from: 0)
                let dependent = dependency.last.dependent
                if dependency.last.condition == finishedCondition || dependency.outcome == .succeeded {
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
        // If the job is no longer blocked, it was skipped or cancelled.
        guard let blocked = try blockedJob(job) else { return }
        if blocked.pending > 1 { return try settling.takeDependency.run([.job <- job]) }
        let isDue = blocked.waitEnd.map { $0 <= steady.moment } ?? blocked.dueAt.map { $0 <= now } ?? true
        let state: JobState = isDue ? .ready : .scheduled
        try settling.unblock.run([
            .job <- job, .state <- state, .due <- isDue ? now : blocked.dueAt ?? now,
            .steady <- isDue ? steady.moment : blocked.waitEnd,
        ])
        count(queue: blocked.queue, graph: blocked.graph, from: .blocked, to: state, now: now)
        let endsAt = blocked.waitEnd.map { steady.wallTime(ofWaitEnd: $0) } ?? blocked.dueAt
        note(job, graph: blocked.graph, state: state, attempt: 0, dueAt: isDue ? nil : endsAt)
        if isDue { try noteReady(job, queue: blocked.queue) }
    }

    private struct BlockedJob {
        let pending: Int64
        let dueAt: Timestamp?
        let queue: Int
        let graph: GraphID?
        /// The end of the wait on the steady scale, if it was requested as a duration.
        let waitEnd: Timestamp?
    }

    /// Nil if the job is not blocked.
    private func blockedJob(_ job: JobID) throws(SQLiteError) -> BlockedJob? {
        try settling.blocked.first([.job <- job]) { (row) throws(SQLiteError) in
            BlockedJob(
                pending: row.integer(0), dueAt: row.optionalTimestamp(1),
                queue: try memory.queueIndex(id: row.integer(2)),
                graph: row.graph(3), waitEnd: row.optionalTimestamp(4))
        }
    }

    /// Skips a job because its dependency ended with `outcome`.
    ///
    /// - Returns: False if the job is no longer blocked.
    func skip(
        _ job: JobID, because dependency: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) -> Bool {
        guard let blocked = try blockedJob(job) else { return false }
        try settling.skip.run([.job <- job, .now <- now])
        count(queue: blocked.queue, graph: blocked.graph, from: .blocked, to: .skipped, now: now)
        note(job, graph: blocked.graph, state: .skipped, attempt: 0, cause: .dependency(dependency))
        try recordSkip(job, because: dependency, outcome, now: now)
        return true
    }

    func recordSkip(
        _ job: JobID, because dependency: JobID, _ outcome: Outcome, now: Timestamp
    ) throws(SQLiteError) {
        var culprit = Culprit(job: dependency, name: "", outcome: outcome)
        var first: Culprit?
        if let found = try settling.nameOf.first([.job <- dependency], { ($0.string(0), Culprit($0)) }) {
            culprit.name = found.0
            // The result of a skipped dependency names the job that caused the first skip.
            if outcome == .skipped { first = found.1 }
        }
        try recordResult(job, attempt: 0, .skipped, .dependency(culprit, first: first ?? culprit), now: now)
    }
}

private let finishedCondition = DependencyCondition.finished.rawValue

extension Culprit {
    /// Reads ``json`` from columns 1 to 3; nil if they are NULL.
    fileprivate init?(_ row: Statement) {
        guard let job = row.optionalInteger(1), let outcome = Outcome(name: row.string(3)) else { return nil }
        self.init(job: JobID(job), name: row.string(2), outcome: outcome)
    }
}

struct SettleStatements: StatementGroup {
    let dependents = Statement(
        """
        SELECT   condition, dependent_id, position
        FROM     dependency INDEXED BY dependency_dependents
        WHERE    dependency_id = :dependency
        AND      (condition, dependent_id, position) > (:condition, :dependent, :position)
        ORDER BY condition, dependent_id, position
        """)
    let keep = Statement(
        """
        INSERT OR REPLACE INTO settling (job_id, outcome, at_ms, last_condition, last_job_id, last_position)
        VALUES (:job, :outcome, :now, :condition, :dependent, :position)
        """)
    let forget = Statement("DELETE FROM settling WHERE job_id = :job")
    let blocked = Statement(
        """
        SELECT pending, due_ms, queue_id, graph_id, steady_ms
        FROM   job
        WHERE  id = :job
        AND    state = \(JobState.blocked)
        """)
    let takeDependency = Statement(
        """
        UPDATE job
        SET    pending = pending - 1
        WHERE  id = :job
        AND    state = \(JobState.blocked)
        """)
    let unblock = Statement(
        """
        UPDATE job
        SET    state = :state, pending = 0, due_ms = :due, steady_ms = :steady
        WHERE  id = :job
        AND    state = \(JobState.blocked)
        """)
    let skip = Statement(
        """
        UPDATE job
        SET    state = \(JobState.skipped), finished_ms = :now
        WHERE  id = :job
        AND    state = \(JobState.blocked)
        """)
    let nameOf = Statement(
        """
        SELECT    coalesce(job.node, definition.name),
                  json_extract(result.detail, '$.job'), json_extract(result.detail, '$.name'),
                  json_extract(result.detail, '$.outcome')
        FROM      job
        JOIN      definition ON definition.id = job.definition_id
        LEFT JOIN result ON result.job_id = job.id AND result.outcome = \(Outcome.skipped)
        WHERE     job.id = :job
        """)
}
