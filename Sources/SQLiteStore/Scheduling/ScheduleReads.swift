import Jobs
import SQLite

extension Reader {
    func allSchedules() throws(SQLiteError) -> [ScheduleRecord] {
        let now = try steadyNow()
        return try schedules.all.all { $0.schedule(steadyNow: now) }
    }

    func schedule(_ name: String) throws(SQLiteError) -> ScheduleRecord? {
        let now = try steadyNow()
        return try schedules.one.first([.name <- name]) { $0.schedule(steadyNow: now) }
    }

    func schedules(due now: Timestamp, limit: Int) throws(SQLiteError) -> [ScheduleRecord] {
        let steadyNow = try steadyNow()
        return try schedules.due.all([.now <- now, .limit <- limit]) { $0.schedule(steadyNow: steadyNow) }
    }

    func nextScheduleAt() throws(SQLiteError) -> Timestamp? {
        try schedules.next.first { $0.optionalTimestamp(0) } ?? nil
    }

    func refusedScheduleCount() throws(SQLiteError) -> Int { try schedules.refused.first { Int($0.integer(0)) } ?? 0 }
}

struct ScheduleReads: StatementGroup {
    static let columns: SQL = """
        name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job_id, last_graph_id, skipped_ms,
        problem, steady_ms
        """

    let next = Statement(
        """
        SELECT   next_ms
        FROM     schedule INDEXED BY schedule_next
        WHERE    next_ms IS NOT NULL
        ORDER BY next_ms
        LIMIT    1
        """)
    let due = Statement(
        """
        SELECT   \(columns)
        FROM     schedule INDEXED BY schedule_next
        WHERE    next_ms <= :now
        ORDER BY next_ms, name
        LIMIT    :limit
        """)
    let all = Statement("SELECT \(columns) FROM schedule ORDER BY name")
    let one = Statement("SELECT \(columns) FROM schedule WHERE name = :name")
    let refused = Statement("SELECT count(*) FROM schedule WHERE problem IS NOT NULL")
}
