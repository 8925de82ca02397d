import Jobs
import PostgreSQL

extension Reader {
    func holders() throws(PostgresError) -> [HolderRecord] {
        var kinds: [String: [String]] = [:]
        try run(Statements.kinds).forEach { kinds[$0.string(0), default: []].append($0.string(1)) }
        var running: [HolderID: [String: Int]] = [:]
        try run(Statements.running).forEach { row in
            running[HolderID(row.integer(0)), default: [:]][row.string(1)] = row.int(2)
        }
        return try run(Statements.lives, try lifeClock()).map { row in
            func names(_ column: Int) -> [String]? {
                row.isNull(column) ? nil : row.string(column).split(separator: "\n").map(String.init)
            }
            let holder = Holder(
                identity: row.string(1), name: row.string(2), host: row.string(3), version: row.string(4),
                queues: names(5), kinds: names(11))
            return HolderRecord(
                id: HolderID(row.integer(0)), holder: holder,
                kinds: HolderRecord.kinds(kinds[holder.identity] ?? [], servedBy: holder), startedAt: row.timestamp(6),
                seenAt: row.timestamp(7),
                aliveUntil: row.optionalTimestamp(8), endedAt: row.optionalTimestamp(9),
                runningByQueue: running[HolderID(row.integer(0))] ?? [:], drainedAt: row.optionalTimestamp(10))
        }
    }

    func home(of job: JobID) throws(PostgresError) -> JobHome? {
        try run(Statements.home, .job(job), try lifeClock()).first.map { row in
            JobHome(
                identity: row.string(0), name: row.string(1), endedAt: row.optionalTimestamp(2),
                drainedAt: row.optionalTimestamp(3))
        }
    }

    private enum Statements {
        static let home = Statement(
            """
            SELECT    lane.home, daemon.name,
                      CASE WHEN NOT (\(Writer.lasts("$2")))
                           THEN coalesce(daemon.ended_ms, daemon.alive_until_ms + clock.skew_ms) END,
                      drained.since_ms
            FROM      halyard.record
            JOIN      halyard.lane ON lane.id = record.lane
            JOIN      halyard.daemon ON daemon.id = (SELECT max(id) FROM halyard.daemon WHERE identity = lane.home)
            JOIN      halyard.clock ON clock.id = 1
            LEFT JOIN halyard.drained ON drained.identity = lane.home
            WHERE     record.id = $1::bigint
            """)
        static let running = Statement(
            """
            SELECT   running.daemon, queue.name, count(*)
            FROM     halyard.running
            JOIN     halyard.lane ON lane.id = running.lane
            JOIN     halyard.queue ON queue.id = lane.queue
            GROUP BY running.daemon, queue.name
            """)
        static let kinds = Statement("SELECT identity, name FROM halyard.kind ORDER BY identity, name COLLATE \"C\"")
        /// A life whose time is over has ended then, even if nobody has noticed yet. Ended lives are shown for a day, and
        /// of each identity only the last.
        static let lives = Statement(
            """
            SELECT   id, identity, name, host, version, array_to_string(queues, E'\\n'), started_ms, seen_ms,
                     alive_until_ms + (SELECT skew_ms FROM halyard.clock WHERE id = 1),
                     coalesce(ended_ms,
                              CASE WHEN NOT (\(Writer.lasts("$1")))
                                   THEN alive_until_ms + (SELECT skew_ms FROM halyard.clock WHERE id = 1) END),
                     (SELECT since_ms FROM halyard.drained WHERE drained.identity = daemon.identity),
                     array_to_string(kinds, E'\\n')
            FROM     halyard.daemon
            WHERE    (\(Writer.lasts("$1")))
            OR       (id = (SELECT max(other.id) FROM halyard.daemon AS other WHERE other.identity = daemon.identity)
                      AND coalesce(ended_ms, alive_until_ms)
                          > (SELECT max(seen_ms) FROM halyard.daemon) - 86400000)
            ORDER BY id
            """)
    }
}
