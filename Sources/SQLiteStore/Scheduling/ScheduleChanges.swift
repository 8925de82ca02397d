import Jobs
import SQLite
import StoreParts

extension Writer {
    func write(_ schedule: Schedule, now: Timestamp) throws(SQLiteError) {
        if let known = try self.schedule(schedule.name), known.schedule == schedule, known.unreadable == nil { return }
        try scheduling.write.run([
            .name <- schedule.name, .body <- schedule.json, .now <- now, .steady <- steady.now,
            .summary <- schedule.summary,
        ])
        schedulesChanged = true
    }

    func removeSchedule(_ name: String) throws(SQLiteError) {
        if try scheduling.remove.runCountingChanges([.name <- name]) > 0 { schedulesChanged = true }
    }

    func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) throws(SQLiteError) -> ScheduleRecord? {
        let statement = isPaused ? scheduling.pause : scheduling.resume
        if try statement.runCountingChanges([.name <- name, .now <- now]) > 0 {
            schedulesChanged = true
            if !isPaused { try mark(name) }
        }
        return try schedule(name)
    }

    /// Restarts the measurement of ``ScheduleRecord/sinceLast`` for the schedule.
    func mark(_ name: String) throws(SQLiteError) {
        try scheduling.mark.run([.name <- name, .steady <- steady.now])
    }

    func schedule(_ name: String) throws(SQLiteError) -> ScheduleRecord? {
        try scheduling.one.first([.name <- name]) { $0.schedule(steadyNow: steady.now) }
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
            schedule: schedule, revision: Int(integer(1)), updatedAt: timestamp(3),
            afterAt: timestamp(4), nextAt: optionalTimestamp(5), pausedAt: optionalTimestamp(6),
            lastAt: optionalTimestamp(7), lastJob: optionalJob(8), lastGraph: graph(9),
            skippedAt: optionalTimestamp(10),
            problem: optionalString(11), unreadable: unreadable,
            sinceLast: .milliseconds(max(0, steadyNow - integer(12))))
    }
}

struct ScheduleStatements: StatementGroup {
    let one = Statement("SELECT \(ScheduleReads.columns) FROM schedule WHERE name = :name")
    let count = Statement("SELECT count(*) FROM schedule")
    let write = Statement(
        """
        INSERT INTO schedule (name, revision, body, updated_ms, after_ms, steady_ms, summary)
        VALUES (:name, 1, :body, :now, :now, :steady, :summary)
        ON CONFLICT (name) DO UPDATE
        SET    revision = revision + 1, body = :body, updated_ms = :now, after_ms = :now, next_ms = NULL,
               problem = NULL, steady_ms = :steady, summary = :summary
        """)
    let remove = Statement("DELETE FROM schedule WHERE name = :name")
    let pause = Statement(
        """
        UPDATE schedule
        SET    revision = revision + 1, paused_ms = :now, next_ms = NULL
        WHERE  name = :name
        AND    paused_ms IS NULL
        """)
    let resume = Statement(
        """
        UPDATE schedule
        SET    revision = revision + 1, paused_ms = NULL, after_ms = :now
        WHERE  name = :name
        AND    paused_ms IS NOT NULL
        """)
    let move = Statement(
        """
        UPDATE schedule
        SET    after_ms = :after, next_ms = :next
        WHERE  name = :name
        AND    revision = :revision
        AND    updated_ms = :updated
        AND    next_ms IS :expected
        AND    paused_ms IS NULL
        """)
    let mark = Statement("UPDATE schedule SET steady_ms = :steady WHERE name = :name")
    let openJob = Statement("SELECT 1 FROM job WHERE id = :job AND state < \(JobState.firstFinal)")
    let fired = Statement(
        """
        UPDATE schedule
        SET    last_ms = :now, last_job_id = :job, last_graph_id = :graph, problem = NULL
        WHERE  name = :name
        """)
    let skipped = Statement("UPDATE schedule SET skipped_ms = :now WHERE name = :name")
    let refused = Statement("UPDATE schedule SET problem = :problem WHERE name = :name")
    let ran = Statement(
        """
        UPDATE schedule
        SET    last_job_id = :job, last_graph_id = :graph, problem = NULL
        WHERE  name = :name
        """)
}
