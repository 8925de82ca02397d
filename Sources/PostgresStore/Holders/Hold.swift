import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// The answer to the begin of a life.
    enum Begin {
        case begun(HolderLife)
        /// A life of the same identity lasts on another machine.
        case inUse(host: String)
    }

    /// Begins a life, and ends every earlier one of the same identity (H1).
    ///
    /// A copy of a machine has the same identity, but its daemon is another one. So a life of another running system
    /// ends only by itself.
    func begin(_ holder: Holder, now passed: Timestamp) throws(PostgresError) -> Begin {
        let now = time.now(passed)
        try run(Statements.lockIdentity, .text(holder.identity))
        let other = try run(Statements.elsewhere, .text(holder.identity), .text(holder.machine), lifeClock).first
        if let other { return .inUse(host: other.string(0)) }
        let row = try run(
            Statements.begin, .text(holder.identity), .text(holder.name), .text(holder.host), .text(holder.version),
            holder.queues.map { Argument.texts($0) } ?? .null, .time(now), .integer(options.lifeLength.milliseconds),
            .text(boot), lifeClock, .text(holder.machine), holder.kinds.map { Argument.texts($0) } ?? .null
        ).first
        guard let row else { throw PostgresError(.unexpected, message: "a life was not inserted") }
        let id = HolderID(row.integer(0))
        for ended in try run(Statements.endOthers, .integer(id.rawValue), .text(holder.identity), .time(now))
            .map({ HolderID($0.integer(0)) })
        {
            try releaseShares(of: ended)
        }
        try run(Statements.forget, .time(now))
        holdersChanged = true
        return .begun(try life(id))
    }

    func leave(_ holder: HolderID, now passed: Timestamp) throws(PostgresError) {
        guard try run(Statements.leave, .integer(holder.rawValue), .time(time.now(passed))).changes == 1 else { return }
        try releaseShares(of: holder)
        memory.running[holder] = nil
        holdersChanged = true
    }

    /// - Returns: False if no daemon ever had this identity.
    func setDrained(_ isDrained: Bool, identity: String, now passed: Timestamp) throws(PostgresError) -> Bool {
        guard try run(Statements.exists, .text(identity)).count > 0 else { return false }
        let changes =
            isDrained
            ? try run(Statements.drain, .text(identity), .time(time.now(passed))).changes
            : try run(Statements.resume, .text(identity)).changes
        if changes > 0 { holdersChanged = true }
        return true
    }

    private func life(_ holder: HolderID) throws(PostgresError) -> HolderLife {
        let hasOrphans =
            try run(LifeStatements.orphans, .integer(holder.rawValue), lifeClock).first?.boolean(0) ?? false
        return HolderLife(id: holder, length: options.lifeLength, hasOrphans: hasOrphans)
    }

    /// Whether the life lasts. Every transaction of a holder asks first: it then keeps the life's lock, for which a
    /// rescue waits, so that a rescue sees all that the holder has claimed.
    func isAlive(_ holder: HolderID) throws(PostgresError) -> Bool { try state(of: holder).isAlive }

    /// The state of a life, as ``isAlive(_:)`` reads it.
    struct LifeState {
        var isAlive = false
        /// The identity of the life's daemon; empty for a life that was forgotten.
        var identity = ""
        var drainedAt: Timestamp?
    }

    func state(of holder: HolderID) throws(PostgresError) -> LifeState {
        try putOff(Statements.share, .integer(holder.rawValue))
        guard let row = try run(Statements.state, .integer(holder.rawValue), lifeClock).first else {
            return LifeState()
        }
        return LifeState(
            isAlive: row.boolean(0), identity: row.string(1), drainedAt: row.optionalTimestamp(2))
    }

    /// Waits until every other transaction of the holder has ended.
    func awaitTransactions(of holder: HolderID) throws(PostgresError) {
        try run(Statements.exclude, .integer(holder.rawValue))
    }

    /// Excludes every other transaction that holds the lock of a life that has ended. Ends those of its own daemon, and
    /// those of others that are frozen or cut off: a rescue must not wait for them.
    ///
    /// - Parameter mustWait: Whether to wait for a transaction of another daemon that is at work.
    /// - Returns: False if such a transaction has the lock.
    func excludeTransactions(of ended: HolderID, mustWait: Bool) throws(PostgresError) -> Bool {
        let terminated = try run(Statements.terminateStuck, .integer(ended.rawValue)).count
        if terminated == 0, !mustWait {
            return try run(Statements.tryExclude, .integer(ended.rawValue)).first?.boolean(0) ?? false
        }
        try awaitTransactions(of: ended)
        return true
    }

    /// Reads the running jobs of a holder, as they were claimed.
    func held(by holder: HolderID) throws(PostgresError) -> [ClaimedJob] {
        // The server may not have noticed yet that a connection broke, and still work for it.
        try run(Statements.terminate, .integer(holder.rawValue))
        try awaitTransactions(of: holder)
        // Only now is it certain which of their changes were committed.
        try countRunning()
        let held = try run(Statements.held, .integer(holder.rawValue)).map { (row) throws(PostgresError) in
            ClaimedJob(
                lease: Lease(job: row.job(0), attempt: row.int(1)), definition: DefinitionID(row.integer(2)),
                graph: row.graph(3), input: row.json(4), hasDependencies: row.integer(5) > 0, tries: row.int(6),
                checkpoint: row.json(8), isSuspect: try lane(row.integer(7)).laneClass == .suspect)
        }
        memory.trials.correct(running: Set(held.map(\.lease.job)), now: time.steady.moment)
        return held
    }

    /// The time for ``lasts(_:)``: NULL for the server's clock, which decides alone, or a test's.
    var lifeClock: Argument { time.server == nil ? .integer(time.steady.now) : .null }

    /// The server's clock, or the time in a parameter if it is not NULL.
    static func moment(_ parameter: String) -> String {
        "coalesce(\(parameter)::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    }

    /// Whether a life lasts.
    static func lasts(_ parameter: String) -> String {
        "ended_ms IS NULL AND alive_until_ms > \(moment(parameter))"
    }

    private enum Statements {
        static let begin = Statement(
            """
            INSERT INTO halyard.daemon (identity, name, host, version, queues, started_ms, seen_ms, alive_until_ms, boot,
                                        machine, kinds)
            VALUES ($1::text, $2::text, $3::text, $4::text, $5::text[], $6::bigint, $6::bigint,
                    \(moment("$9")) + $7::bigint, $8::text, $10::text, $11::text[])
            RETURNING id
            """)
        static let lockIdentity = Statement(
            "SELECT pg_advisory_xact_lock(\(AdvisoryLock.identity), hashtext($1::text))")
        static let elsewhere = Statement(
            """
            SELECT   host
            FROM     halyard.daemon
            WHERE    identity = $1::text
            AND      machine <> $2::text
            AND      \(lasts("$3"))
            ORDER BY id DESC
            LIMIT    1
            """)
        static let endOthers = Statement(
            """
            UPDATE halyard.daemon
            SET    ended_ms = $3::bigint
            WHERE  identity = $2::text
            AND    id < $1::bigint
            AND    ended_ms IS NULL
            RETURNING id
            """)
        /// Deletes lives that ended more than a day ago, except the last one of each identity.
        static let forget = Statement(
            """
            DELETE FROM halyard.daemon
            WHERE  rescued_ms IS NOT NULL
            AND    ended_ms < $1::bigint - 86400000
            AND    EXISTS (SELECT 1 FROM halyard.daemon AS later
                           WHERE later.identity = daemon.identity AND later.id > daemon.id)
            """)
        static let leave = Statement(
            """
            UPDATE halyard.daemon
            SET    ended_ms = $2::bigint, left_ms = $2::bigint
            WHERE  id = $1::bigint
            AND    ended_ms IS NULL
            """)
        static let exists = Statement("SELECT 1 FROM halyard.daemon WHERE identity = $1::text LIMIT 1")
        static let drain = Statement(
            "INSERT INTO halyard.drained (identity, since_ms) VALUES ($1::text, $2::bigint) ON CONFLICT DO NOTHING")
        static let resume = Statement("DELETE FROM halyard.drained WHERE identity = $1::text")
        static let share = Statement(
            "SELECT pg_advisory_xact_lock_shared(\(AdvisoryLock.life), $1::bigint::integer)")
        static let exclude = Statement("SELECT pg_advisory_xact_lock(\(AdvisoryLock.life), $1::bigint::integer)")
        static let tryExclude = Statement(
            "SELECT pg_try_advisory_xact_lock(\(AdvisoryLock.life), $1::bigint::integer)")
        /// A daemon holds the lock of its own life shared. Another one holds it exclusively for a few statements. Other roles
        /// may hold it too, since advisory locks need no permission, but a daemon may not terminate their backends.
        static let terminateStuck = Statement(
            """
            SELECT pg_terminate_backend(pg_locks.pid)
            FROM   pg_locks
            JOIN   pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid
            WHERE  locktype = 'advisory'
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND    classid::bigint = \(AdvisoryLock.life)
            AND    objid::bigint = $1::bigint
            AND    objsubid = 2
            AND    granted
            AND    pg_locks.pid <> pg_backend_pid()
            AND    usename = current_user
            AND    (mode = 'ShareLock'
                    OR (state LIKE 'idle in transaction%' AND clock_timestamp() - state_change > interval '1 second'))
            """)
        static let terminate = Statement(
            """
            SELECT pg_terminate_backend(pg_locks.pid)
            FROM   pg_locks
            JOIN   pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid
            WHERE  locktype = 'advisory'
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND    classid::bigint = \(AdvisoryLock.life)
            AND    objid::bigint = $1::bigint
            AND    objsubid = 2
            AND    mode = 'ShareLock'
            AND    usename = current_user
            AND    pg_locks.pid <> pg_backend_pid()
            """)
        static let state = Statement(
            """
            SELECT    \(lasts("$2")), daemon.identity, drained.since_ms
            FROM      halyard.daemon
            LEFT JOIN halyard.drained ON drained.identity = daemon.identity
            WHERE     daemon.id = $1::bigint
            """)
        static let held = Statement(
            """
            SELECT    running.job, running.attempt, job.definition, running.graph, job.input, job.dependencies,
                      running.tries, running.lane, checkpoint.value
            FROM      halyard.running
            JOIN      halyard.job ON job.id = running.job
            LEFT JOIN halyard.checkpoint ON checkpoint.job = running.job
            WHERE     running.daemon = $1::bigint
            ORDER BY  running.job
            """)
    }
}
