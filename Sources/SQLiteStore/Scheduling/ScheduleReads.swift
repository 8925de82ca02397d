import Jobs
import SQLite

extension Reader {
    func allSchedules() throws(SQLiteError) -> [ScheduleRecord] {
        let now = try steadyNow()
        var records: [ScheduleRecord] = []
        while try schedules.all.step() { records.append(schedules.all.schedule(steadyNow: now)) }
        return records
    }

    func schedule(_ name: String) throws(SQLiteError) -> ScheduleRecord? {
        let now = try steadyNow()
        try schedules.one.bind(1, name)
        guard try schedules.one.step() else { return nil }
        defer { schedules.one.reset() }
        return schedules.one.schedule(steadyNow: now)
    }

    func schedules(due now: Timestamp, limit: Int) throws(SQLiteError) -> [ScheduleRecord] {
        var records: [ScheduleRecord] = []
        let steadyNow = try steadyNow()
        schedules.due.bind(1, now.milliseconds)
        schedules.due.bind(2, limit)
        while try schedules.due.step() { records.append(schedules.due.schedule(steadyNow: steadyNow)) }
        return records
    }

    func nextScheduleAt() throws(SQLiteError) -> Timestamp? {
        guard try schedules.next.step() else { return nil }
        defer { schedules.next.reset() }
        return schedules.next.timestamp(0)
    }

    func refusedScheduleCount() throws(SQLiteError) -> Int {
        defer { schedules.refused.reset() }
        return try schedules.refused.step() ? Int(schedules.refused.integer(0)) : 0
    }
}

struct ScheduleReads: ~Copyable {
    static let nextSQL: SQL = """
        SELECT   next_ms
        FROM     schedule INDEXED BY schedule_next
        WHERE    next_ms IS NOT NULL
        ORDER BY next_ms
        LIMIT    1
        """
    static let dueSQL: SQL = """
        SELECT   name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job_id, last_graph_id,
                 skipped_ms, problem, steady_ms
        FROM     schedule INDEXED BY schedule_next
        WHERE    next_ms <= :now
        ORDER BY next_ms, name
        LIMIT    :limit
        """
    static let allSQL: SQL = """
        SELECT   name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job_id, last_graph_id,
                 skipped_ms, problem, steady_ms
        FROM     schedule
        ORDER BY name
        """

    let next: Statement
    let due: Statement
    let all: Statement
    let one: Statement
    let refused: Statement

    init(_ connection: Connection) {
        next = connection.prepare(Self.nextSQL)
        due = connection.prepare(Self.dueSQL)
        all = connection.prepare(Self.allSQL)
        one = connection.prepare(ScheduleStatements.oneSQL)
        refused = connection.prepare("SELECT COUNT(*) FROM schedule WHERE problem IS NOT NULL")
    }
}
