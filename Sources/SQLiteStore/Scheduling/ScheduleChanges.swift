import Jobs
import SQLite

extension Writer {
    func write(_ schedule: Schedule, now: Timestamp) throws(SQLiteError) {
        if let known = try self.schedule(schedule.name), known.schedule == schedule, known.unreadable == nil { return }
        try scheduling.write.bind(1, schedule.name)
        try scheduling.write.bind(2, text: schedule.json.bytes)
        scheduling.write.bind(3, now.milliseconds)
        scheduling.write.bind(4, steady.now)
        try scheduling.write.bind(5, schedule.summary)
        try scheduling.write.run()
        schedulesChanged = true
    }

    func removeSchedule(_ name: String) throws(SQLiteError) {
        try scheduling.remove.bind(1, name)
        if try scheduling.remove.runCountingChanges() > 0 { schedulesChanged = true }
    }

    func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) throws(SQLiteError) -> ScheduleRecord? {
        let changes =
            isPaused ? try set(scheduling.pause, name, now: now) : try set(scheduling.resume, name, now: now)
        if changes > 0 {
            schedulesChanged = true
            if !isPaused { try mark(name) }
        }
        return try schedule(name)
    }

    /// Restarts the measurement of ``ScheduleRecord/sinceLast`` for the schedule.
    func mark(_ name: String) throws(SQLiteError) {
        try scheduling.mark.bind(1, name)
        scheduling.mark.bind(2, steady.now)
        try scheduling.mark.run()
    }

    private func set(
        _ statement: borrowing Statement, _ name: String, now: Timestamp
    ) throws(SQLiteError) -> Int {
        try statement.bind(1, name)
        statement.bind(2, now.milliseconds)
        return try statement.runCountingChanges()
    }

    func schedule(_ name: String) throws(SQLiteError) -> ScheduleRecord? {
        try scheduling.one.bind(1, name)
        guard try scheduling.one.step() else { return nil }
        defer { scheduling.one.reset() }
        return scheduling.one.schedule(steadyNow: steady.now)
    }
}

extension Statement {
    /// Columns: name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job_id, last_graph_id,
    /// skipped_ms, problem, steady_ms.
    func schedule(steadyNow: Int64) -> ScheduleRecord {
        let schedule: Schedule
        var unreadable: String?
        do throws(ShapeProblem) {
            schedule = try Schedule(json: json(2) ?? .emptyObject, at: [])
        } catch {
            schedule = Schedule(name: string(0), calendar: [], definition: "")
            unreadable = "\(error)"
        }
        return ScheduleRecord(
            schedule: schedule, revision: Int(integer(1)), updatedAt: Timestamp(milliseconds: integer(3)),
            afterAt: Timestamp(milliseconds: integer(4)), nextAt: timestamp(5), pausedAt: timestamp(6),
            lastAt: timestamp(7), lastJob: optionalInteger(8).map(JobID.init(_:)),
            lastGraph: optionalInteger(9).map(GraphID.init(_:)), skippedAt: timestamp(10),
            problem: optionalString(11), unreadable: unreadable,
            sinceLast: .milliseconds(max(0, steadyNow - integer(12))))
    }
}

struct ScheduleStatements: ~Copyable {
    static let oneSQL: SQL = """
        SELECT name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job_id, last_graph_id,
               skipped_ms, problem, steady_ms
        FROM   schedule
        WHERE  name = :name
        """
    static let moveSQL: SQL = """
        UPDATE schedule
        SET    after_ms = ?4, next_ms = ?5
        WHERE  name = ?1
        AND    revision = ?2
        AND    updated_ms = ?6
        AND    next_ms IS ?3
        AND    paused_ms IS NULL
        """
    static let openJobSQL: SQL = "SELECT state < 4 FROM job WHERE id = :job"
    static let openGraphSQL: SQL = "SELECT blocked + scheduled + ready + running FROM graph WHERE id = :graph"

    let one: Statement
    let count: Statement
    let write: Statement
    let remove: Statement
    let pause: Statement
    let resume: Statement
    let move: Statement
    let mark: Statement
    let openJob: Statement
    let openGraph: Statement
    let fired: Statement
    let skipped: Statement
    let refused: Statement
    let ran: Statement

    init(_ connection: Connection) {
        one = connection.prepare(Self.oneSQL)
        count = connection.prepare("SELECT count(*) FROM schedule")
        write = connection.prepare(
            """
            INSERT INTO schedule (name, revision, body, updated_ms, after_ms, steady_ms, summary)
            VALUES (?1, 1, ?2, ?3, ?3, ?4, ?5)
            ON CONFLICT (name) DO UPDATE
            SET    revision = revision + 1, body = ?2, updated_ms = ?3, after_ms = ?3, next_ms = NULL, problem = NULL,
                   steady_ms = ?4, summary = ?5
            """)
        remove = connection.prepare("DELETE FROM schedule WHERE name = :name")
        pause = connection.prepare(
            """
            UPDATE schedule
            SET    revision = revision + 1, paused_ms = ?2, next_ms = NULL
            WHERE  name = ?1
            AND    paused_ms IS NULL
            """)
        resume = connection.prepare(
            """
            UPDATE schedule
            SET    revision = revision + 1, paused_ms = NULL, after_ms = ?2
            WHERE  name = ?1
            AND    paused_ms IS NOT NULL
            """)
        move = connection.prepare(Self.moveSQL)
        mark = connection.prepare("UPDATE schedule SET steady_ms = ?2 WHERE name = ?1")
        openJob = connection.prepare(Self.openJobSQL)
        openGraph = connection.prepare(Self.openGraphSQL)
        fired = connection.prepare(
            """
            UPDATE schedule
            SET    last_ms = ?2, last_job_id = ?3, last_graph_id = ?4, problem = NULL
            WHERE  name = ?1
            """)
        skipped = connection.prepare("UPDATE schedule SET skipped_ms = ?2 WHERE name = ?1")
        refused = connection.prepare("UPDATE schedule SET problem = ?2 WHERE name = ?1")
        ran = connection.prepare(
            """
            UPDATE schedule
            SET    last_job_id = ?2, last_graph_id = ?3, problem = NULL
            WHERE  name = ?1
            """)
    }
}
