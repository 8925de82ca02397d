import Jobs
import Moving
import PostgreSQL

/// A database of a server from which jobs are moved. An advisory lock keeps daemons out. After ``settle()``, one
/// transaction prevents all changes, and reads one snapshot.
package final class PostgresMoveSource: MoveSource {
    package let place: String
    package let key: String
    package let mark: MoveMark?
    private let url: String
    private let options: PostgresStoreOptions
    private let clockOfTests: (any StoreClock)?
    private let connection: Connection

    /// Connects, and reserves the database.
    ///
    /// - Parameter clock: A clock that replaces the server's clock, for tests; nil to use the server's clock.
    /// - Throws: ``PostgresOpenError``, or ``MoveFailure`` if something uses the database.
    package init(_ url: String, options: PostgresStoreOptions, clock: (any StoreClock)? = nil) throws {
        self.url = url
        self.options = options
        clockOfTests = clock
        place = DatabaseAddress.postgresql(url: url).description
        connection = try PostgresJobStore.connect(.toMove(url, options))
        try connection.run(Connection.settingsForMove)
        try connection.requireOwnSchema()
        try connection.reserveForMove()
        let found = try connection.mark()
        key = try connection.identity()
        if case (.unfinished, let mark)? = found {
            throw PostgresOpenError.unfinishedMove(
                server: connection.server, place: mark.place, isComplete: mark.isVerified)
        }
        mark = found?.mark
        if mark == nil { try connection.refuseDaemons() }
    }

    deinit { connection.releaseAfterMove() }

    /// Reads what a move would move, and changes nothing.
    package func preview() throws -> (digests: [Facts: FactDigest], counts: StateCounts) {
        try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        let result = (try Move.digests(of: read), try Move.counts { try read(.counts, $0) })
        try connection.run("COMMIT")
        return result
    }

    package func settle() throws {
        try rescue()
        try clearDroppedRanges()
        // A program that enqueues takes numbers of jobs before it waits for a locked table, and nothing returns them. So it
        // must wait earlier. The lock lasts until `releaseAfterMove`.
        try connection.runAlone { try connection.run("SELECT pg_advisory_lock(\(AdvisoryLock.adding))") }
        try lock()
        // A daemon may have begun before the tables were locked.
        try connection.refuseDaemons()
        let changed = try connection.run(
            "(SELECT 1 FROM halyard.running LIMIT 1) UNION ALL (SELECT 1 FROM halyard.range WHERE is_dropped LIMIT 1)")
        if changed.count > 0 {
            throw MoveFailure(
                .busy, "Jobs of \(place) were started or pruned meanwhile. Stop all daemons, then move again.")
        }
    }

    /// Deletes the graphs and keys of jobs that a prune has dropped (N5).
    private func clearDroppedRanges() throws {
        if try connection.run("SELECT 1 FROM halyard.range WHERE is_dropped LIMIT 1").count == 0 { return }
        let writer = self.writer()
        var isLeft = true
        while isLeft { try commit(writer) { () throws(PostgresError) in isLeft = try writer.clearDroppedRange() } }
    }

    private func writer() -> Writer {
        Writer(
            .toMove(url, options), listener: Int64.random(in: 1...Int64.max), clock: clockOfTests, offset: nil,
            options: options)
    }

    /// Ends the attempts of daemons that have died.
    private func rescue() throws {
        if try connection.run("SELECT 1 FROM halyard.running LIMIT 1").count == 0 { return }
        let writer = self.writer()
        let now = clockOfTests?.wall ?? Timestamp(milliseconds: 0)
        var holder = HolderID(0)
        try commit(writer) { () throws(PostgresError) in
            if case .begun(let life) = try writer.begin(
                Holder(identity: "halyard move", host: "localhost", version: "0"), now: now)
            {
                holder = life.id
            }
        }
        try commit(writer) { () throws(PostgresError) in
            _ = try writer.rescue(RescueRequest(maxRescues: Move.maxRescues), by: holder, now: now)
        }
        try commit(writer) { () throws(PostgresError) in try writer.leave(holder, now: now) }
    }

    private func commit(_ writer: Writer, _ body: () throws(PostgresError) -> Void) throws(PostgresError) {
        try writer.begin(isObserved: false)
        try body()
        try writer.flush()
        try writer.commit()
        writer.forgetChanges()
    }

    /// Begins the transaction that reads one snapshot and prevents changes. It locks the tables in the order of all
    /// other transactions, to avoid deadlocks.
    private func lock() throws {
        for isLast in [false, false, true] {
            do throws(PostgresError) {
                try connection.run(
                    """
                    BEGIN ISOLATION LEVEL REPEATABLE READ;
                    SET LOCAL lock_timeout = '60s';
                    LOCK TABLE halyard.idempotency, halyard.graph, halyard.job, halyard.dependency, halyard.blocked,
                               halyard.scheduled, halyard.ready, halyard.running, halyard.done, halyard.attempt,
                               halyard.kept, halyard.checkpoint, halyard.queue, halyard.definition,
                               halyard.graph_definition, halyard.schedule, halyard.settings, halyard.daemon
                    IN SHARE ROW EXCLUSIVE MODE
                    """)
                return
            } catch {
                if connection.isOpen { try connection.run("ROLLBACK") }
                if error.sqlState == SQLState.lockTimeout {
                    throw MoveFailure.locked(place)
                }
                if isLast || !error.isConflict { throw error }
            }
        }
    }

    package func clock() throws -> MoveClock { try connection.moveClock(isOwn: clockOfTests != nil) }

    package func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try connection.read(table, body) }

    /// The jobs that are bound to other daemons, or whose result files other daemons have.
    ///
    /// - Parameter home: The identity of the daemon whose files stay with the jobs; nil for none.
    /// - Returns: The number of such jobs, by the name of the daemon.
    package func jobsOfOtherHomes(than home: String?) throws -> [(daemon: String, jobs: Int)] {
        try connection.run(
            Statement(
                """
                SELECT   coalesce((SELECT name FROM halyard.daemon WHERE identity = bound.home ORDER BY id DESC LIMIT 1),
                                  bound.home), count(*)
                FROM     (SELECT job, home FROM halyard.kept
                          -- The job may be gone (N5).
                          WHERE  NOT EXISTS (SELECT 1 FROM halyard.range
                                             WHERE is_dropped AND job >= first AND job < below)
                          UNION ALL
                          SELECT open.job, lane.home
                          FROM   (SELECT job, lane FROM halyard.blocked UNION ALL SELECT job, lane FROM halyard.scheduled
                                  UNION ALL SELECT job, lane FROM halyard.ready
                                  UNION ALL SELECT job, lane FROM halyard.running) AS open
                          JOIN   halyard.lane ON lane.id = open.lane
                          WHERE  lane.home IS NOT NULL) AS bound
                WHERE    bound.home IS DISTINCT FROM $1::text
                GROUP BY bound.home
                ORDER BY 1
                """), [.text(home)]
        ).map { (daemon: $0.string(0), jobs: $0.int(1)) }
    }

    package func markMoved(_ mark: MoveMark) throws {
        try connection.writeMark(mark, .moved)
        try connection.run("COMMIT")
    }
}

extension MoveFailure {
    fileprivate static func locked(_ place: String) -> MoveFailure {
        MoveFailure(
            .busy,
            "A transaction keeps jobs of \(place) locked. Commit or end it (see pg_stat_activity), then move again.")
    }
}

extension Link {
    /// A connection for a move, with a long timeout, since statements of a move may take hours.
    static func toMove(_ url: String, _ options: PostgresStoreOptions) -> Link {
        Link(to: url, name: "halyard move", options: options, answerTimeout: .seconds(6 * 3600))
    }
}

extension Connection {
    /// Removes limits that the server or the role has for other sessions, which would end a move of many jobs. Not every
    /// version has all of them.
    static let settingsForMove = """
        SELECT set_config(name, '0', false)
        FROM   pg_settings
        WHERE  name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
                        'idle_in_transaction_session_timeout')
        """

    /// Runs `body` in a transaction that waits at most a minute for each lock.
    ///
    /// - Throws: ``MoveFailure`` if another transaction keeps the tables locked; or an error of `body`.
    func runAlone(_ body: () throws -> Void) throws {
        do {
            try run("BEGIN; SET LOCAL lock_timeout = '60s'")
            try body()
            try run("COMMIT")
        } catch {
            // Losing this error is harmless: a transaction whose connection is closed is undone too.
            if isOpen { _ = try? run("ROLLBACK") }
            guard let error = error as? PostgresError,
                error.sqlState == SQLState.lockTimeout || error.sqlState == SQLState.deadlock
            else { throw error }
            throw MoveFailure.locked(server)
        }
    }

    /// The identity of the database. A copy on another server has the same identity.
    func identity() throws(PostgresError) -> String { try run("SELECT identity FROM halyard.settings")[0].string(0) }
}
