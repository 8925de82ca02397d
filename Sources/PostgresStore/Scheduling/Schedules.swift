import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    // MARK: Changes

    func write(_ schedule: Schedule, now: Timestamp) throws(PostgresError) {
        if let known = try self.schedule(schedule.name), known.schedule == schedule, known.unreadable == nil { return }
        try run(
            Statements.write, .text(schedule.name), .json(schedule.json), .time(now), .integer(time.steady.now),
            .text(schedule.summary))
        schedulesChanged = true
    }

    func removeSchedule(_ name: String) throws(PostgresError) {
        if try run(Statements.remove, .text(name)).changes > 0 { schedulesChanged = true }
    }

    func setPaused(
        _ isPaused: Bool, schedule name: String, now passed: Timestamp
    ) throws(PostgresError) -> ScheduleRecord? {
        let now = time.now(passed)
        _ = try lockSettings()
        let statement = isPaused ? Statements.pause : Statements.resume
        if try run(statement, .text(name), .time(now)).changes > 0 {
            schedulesChanged = true
            if !isPaused { try mark(name) }
            try nextVersion()
        }
        return try schedule(name)
    }

    /// Restarts the measurement of ``ScheduleRecord/sinceLast`` for the schedule.
    private func mark(_ name: String) throws(PostgresError) {
        try run(Statements.mark, .text(name), .integer(time.steady.now))
    }

    func schedule(_ name: String) throws(PostgresError) -> ScheduleRecord? {
        try run(ScheduleReads.one, .text(name)).first.map { $0.schedule(steadyNow: time.steady.now) }
    }

    // MARK: Firing

    /// Moves the schedule to its next time. Returns false if the row has changed since it was read.
    func move(_ timing: ScheduleTiming) throws(PostgresError) -> Bool {
        let changes = try run(
            Statements.move, .text(timing.name), .integer(timing.revision), .time(timing.updatedAt),
            .time(timing.expected), .time(timing.after), .time(timing.nextAt)
        ).changes
        guard changes > 0 else { return false }
        if case .write(let problem) = timing.problem { try run(Statements.refused, .text(timing.name), .text(problem)) }
        return true
    }

    /// Fires the schedule, once for each time in the whole fleet. The move names the expected time, so a second firing
    /// for the same time changes nothing.
    func fire(_ firing: ScheduleFiring, now passed: Timestamp) throws(PostgresError) -> FiringOutcome {
        let name = firing.timing.name
        guard let moment = firing.timing.expected, try move(firing.timing), let record = try schedule(name) else {
            return .stale
        }
        try mark(name)
        let graph: NewGraph
        switch firing.work {
        case .refused(let reason): return try refuse(name, reason)
        case .enqueue(let work): graph = work
        }
        if record.schedule.overlap == .skip, let job = record.lastJob, try isOpen(job, record.lastGraph) {
            try run(Statements.skipped, .text(name), .time(moment))
            return .skipped(lastJob: job, lastGraph: record.lastGraph)
        }
        let receipt: EnqueueReceipt
        switch try enqueue([graph], now: passed)[0] {
        case .enqueued(let new), .duplicate(let new): receipt = new
        case .refused(let refusal): return try refuse(name, refusal.reasonForSchedule)
        }
        try run(Statements.fired, .text(name), .time(moment), .job(receipt.jobs[0]), .graph(receipt.graph))
        return .fired(receipt)
    }

    /// Enqueues the schedule's work outside its calendar. Nil if there is no such schedule.
    func run(schedule name: String, _ graph: NewGraph, now: Timestamp) throws(PostgresError) -> EnqueueOutcome? {
        guard try schedule(name) != nil else { return nil }
        let outcome = try enqueue([graph], now: now)[0]
        if case .enqueued(let receipt) = outcome {
            try run(Statements.ran, .text(name), .job(receipt.jobs[0]), .graph(receipt.graph))
        }
        return outcome
    }

    private func refuse(_ name: String, _ reason: String) throws(PostgresError) -> FiringOutcome {
        try run(Statements.refused, .text(name), .text(reason))
        return .refused(reason)
    }

    /// Whether the graph, or the lone job, is not final. If it no longer exists, it was pruned, so it is final.
    private func isOpen(_ job: JobID, _ graph: GraphID?) throws(PostgresError) -> Bool {
        let statement = graph == nil ? Statements.openJob : Statements.openGraph
        return try run(statement, graph.map { .graph($0) } ?? .job(job)).count > 0
    }

    private enum Statements {
        static let write = Statement(
            """
            INSERT INTO halyard.schedule AS schedule (name, revision, body, updated_ms, after_ms, steady_ms, summary)
            VALUES ($1::text, 1, $2::text, $3::bigint, $3::bigint, $4::bigint, $5::text)
            ON CONFLICT (name) DO UPDATE
            SET    revision = schedule.revision + 1, body = excluded.body, updated_ms = excluded.updated_ms,
                   after_ms = excluded.after_ms, next_ms = NULL, problem = NULL, steady_ms = excluded.steady_ms,
                   summary = excluded.summary
            """)
        static let remove = Statement("DELETE FROM halyard.schedule WHERE name = $1::text")
        static let pause = Statement(
            """
            UPDATE halyard.schedule
            SET    revision = revision + 1, paused_ms = $2::bigint, next_ms = NULL
            WHERE  name = $1::text
            AND    paused_ms IS NULL
            """)
        static let resume = Statement(
            """
            UPDATE halyard.schedule
            SET    revision = revision + 1, paused_ms = NULL, after_ms = $2::bigint
            WHERE  name = $1::text
            AND    paused_ms IS NOT NULL
            """)
        static let move = Statement(
            """
            UPDATE halyard.schedule
            SET    after_ms = $5::bigint, next_ms = $6::bigint
            WHERE  name = $1::text
            AND    revision = $2::bigint
            AND    updated_ms = $3::bigint
            AND    next_ms IS NOT DISTINCT FROM $4::bigint
            AND    paused_ms IS NULL
            """)
        static let mark = Statement("UPDATE halyard.schedule SET steady_ms = $2::bigint WHERE name = $1::text")
        static let openJob = Statement(
            """
            SELECT 1
            FROM   halyard.job
            WHERE  id = $1::bigint
            AND    NOT EXISTS (SELECT 1 FROM halyard.done WHERE done.job = $1::bigint)
            """)
        static let openGraph = Statement(
            """
            SELECT 1
            FROM   halyard.graph
            JOIN   halyard.job ON job.id >= graph.first_job AND job.id < graph.first_job + graph.jobs
            WHERE  graph.id = $1::bigint
            AND    NOT EXISTS (SELECT 1 FROM halyard.done WHERE done.job = job.id)
            LIMIT  1
            """)
        static let fired = Statement(
            """
            UPDATE halyard.schedule
            SET    last_ms = $2::bigint, last_job = $3::bigint, last_graph = $4::bigint, problem = NULL
            WHERE  name = $1::text
            """)
        static let skipped = Statement("UPDATE halyard.schedule SET skipped_ms = $2::bigint WHERE name = $1::text")
        static let refused = Statement("UPDATE halyard.schedule SET problem = $2::text WHERE name = $1::text")
        static let ran = Statement(
            """
            UPDATE halyard.schedule
            SET    last_job = $2::bigint, last_graph = $3::bigint, problem = NULL
            WHERE  name = $1::text
            """)
    }
}
