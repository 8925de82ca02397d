import Jobs
import PostgreSQL

enum ScheduleReads {
    private static let columns =
        "name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job, last_graph, skipped_ms, "
        + "problem, steady_ms"

    static let all = Statement("SELECT \(columns) FROM halyard.schedule ORDER BY name COLLATE \"C\"")
    static let one = Statement("SELECT \(columns) FROM halyard.schedule WHERE name = $1::text")
    static let due = Statement(
        """
        SELECT   \(columns)
        FROM     halyard.schedule
        WHERE    next_ms <= $1::bigint
        ORDER BY next_ms, name COLLATE "C"
        LIMIT    $2::bigint
        """)
    static let next = Statement("SELECT min(next_ms) FROM halyard.schedule WHERE next_ms IS NOT NULL")
    static let refused = Statement("SELECT count(*) FROM halyard.schedule WHERE problem IS NOT NULL")
}

extension Reader {
    func allSchedules() throws(PostgresError) -> [ScheduleRecord] {
        let now = try steadyNow()
        return try run(ScheduleReads.all).map { $0.schedule(steadyNow: now) }
    }

    func schedule(_ name: String) throws(PostgresError) -> ScheduleRecord? {
        let now = try steadyNow()
        return try run(ScheduleReads.one, .text(name)).first.map { $0.schedule(steadyNow: now) }
    }

    func schedules(due passed: Timestamp, limit: Int) throws(PostgresError) -> [ScheduleRecord] {
        let steady = try steadyNow()
        return try run(ScheduleReads.due, .time(now(passed)), .integer(limit)).map { $0.schedule(steadyNow: steady) }
    }

    func nextScheduleAt() throws(PostgresError) -> Timestamp? {
        try run(ScheduleReads.next).first?.optionalTimestamp(0)
    }

    func refusedScheduleCount() throws(PostgresError) -> Int { try run(ScheduleReads.refused).first?.int(0) ?? 0 }
}

extension Row {
    /// Columns: name, revision, body, updated_ms, after_ms, next_ms, paused_ms, last_ms, last_job, last_graph,
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
            schedule: schedule, revision: int(1), updatedAt: timestamp(3), afterAt: timestamp(4),
            nextAt: optionalTimestamp(5), pausedAt: optionalTimestamp(6), lastAt: optionalTimestamp(7),
            lastJob: optionalJob(8), lastGraph: graph(9), skippedAt: optionalTimestamp(10),
            problem: optionalString(11), unreadable: unreadable,
            sinceLast: .milliseconds(max(0, steadyNow - integer(12))))
    }
}
