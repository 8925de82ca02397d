import Glibc
import Jobs
import Moving
import SQLite

/// A file from which jobs are moved. The lock of the file keeps daemons and other commands out.
package final class SQLiteMoveSource: MoveSource {
    package let place: String
    package var key: String { fileKey(place) }
    package let mark: MoveMark?
    private let connection: Connection
    /// Nil if the jobs were moved before.
    private let writer: Writer?
    private let lock: DatabaseLock

    /// Opens an existing file. Migrates an older schema, as a daemon does.
    ///
    /// - Throws: ``StoreOpenError``
    package init(_ lock: DatabaseLock, clock: any StoreClock = SystemStoreClock()) throws(StoreOpenError) {
        self.lock = lock
        let path = lock.databasePath
        place = path
        try Self.requireFile(at: path)
        try SQLiteJobStore.checkHeader(ofDatabaseAt: path)
        let moved = try mappingErrors(at: path) { () throws(SQLiteError) -> (Connection, MoveMark)? in
            let connection = try Connection.toLook(at: path)
            guard try connection.applicationID() == Migration.movedID else { return nil }
            return (connection, try connection.mark())
        }
        if let moved {
            (connection, mark) = moved
            writer = nil
            return
        }
        let writer = try Opening(lock, .moving, clock).writer()
        self.writer = writer
        connection = writer.connection
        mark = nil
    }

    /// Throws if there is no file at the path.
    package static func requireFile(at path: String) throws(StoreOpenError) {
        let location = try DatabaseLocation(path)
        guard access(location.path, F_OK) == 0 || errno != ENOENT else { throw .missingFile(path: location.path) }
    }

    /// Reads what a move would move, and changes nothing.
    ///
    /// - Throws: ``StoreOpenError``, also for an older schema; or an error of SQLite.
    package static func preview(
        ofDatabaseAt path: String
    ) throws -> (key: String, digests: [Facts: FactDigest], counts: StateCounts) {
        let location = try DatabaseLocation(path)
        let connection = try location.openForReading(.moving) { (connection) throws(StoreOpenError) in connection }
        try connection.execute("BEGIN")
        return (
            fileKey(location.path), try Move.digests(of: connection.read),
            try Move.counts { try connection.read(.counts, $0) }
        )
    }

    package func settle() throws {
        guard let writer else { return }
        if !writer.memory.running.isEmpty {
            let now = JobTime.now
            var holder = HolderID(0)
            let lastEnd = lock.lastEnd
            try commit { (writer) throws(SQLiteError) in
                holder = try writer.begin(Holder(identity: "halyard move", host: "localhost", version: "0"), now: now)
                    .id
            }
            try commit { (writer) throws(SQLiteError) in
                _ = try writer.rescue(
                    RescueRequest(maxRescues: Move.maxRescues, after: lastEnd), by: holder, now: now)
            }
            try commit { (writer) throws(SQLiteError) in try writer.leave(holder, now: now) }
            lock.forgetLastEnd()
        }
        while writer.nextSliceAt != nil { try commit { (writer) throws(SQLiteError) in try writer.carryOutSlice() } }
        let odd = try connection.integer(
            """
            SELECT job.id
            FROM   job
            JOIN   attempt ON attempt.job_id = job.id
            WHERE  attempt.outcome = 0
            AND    (attempt.number <> job.attempt OR attempt.started_ms <> job.started_ms
                    OR attempt.ended_ms <> job.finished_ms OR job.state <> 4)
            LIMIT  1
            """)
        if let odd {
            throw MoveFailure(
                .refused,
                "Job \(odd) of \(place) ended at another time than its last attempt; another program changed the file. Prune the job, then move again."
            )
        }
    }

    /// Runs `body` in a transaction of the writer.
    private func commit(_ body: (Writer) throws(SQLiteError) -> Void) throws(SQLiteError) {
        guard let writer else { return }
        try writer.begin(isObserved: false)
        do throws(SQLiteError) {
            try body(writer)
            try writer.flush()
            try writer.commit()
        } catch {
            try writer.rollBack()
            throw error
        }
        _ = writer.takeChanges()
        try connection.checkpointIfLong()
    }

    package func clock() throws -> MoveClock { try connection.moveClock() }

    package func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try connection.read(table, body) }

    package func markMoved(_ mark: MoveMark) throws {
        try connection.transaction { () throws(SQLiteError) in
            try connection.writeMark(mark, applicationID: Migration.movedID)
        }
        if try connection.checkpointIfPossible() { try connection.enable(.checkpointsOnClose) }
    }
}

extension StoreOptions {
    /// Options for a process that moves a database.
    static let moving = StoreOptions(walBytes: 0, watchesFiles: false)
}

/// The time of the wall clock.
enum JobTime {
    static var now: Timestamp { SystemStoreClock().wall }
}
