import Glibc
import Jobs
import Moving
import SQLite

/// A file to which jobs are moved. The lock of the file keeps daemons and other commands out. If the process dies, the
/// mark in the file still keeps them out.
package final class SQLiteMoveTarget: MoveTarget {
    package let place: String
    package var key: String { fileKey(place) }
    package let content: MoveContent
    private let lock: DatabaseLock
    private var connection: Connection?
    private var writing: FactWriting?
    private var clock = MoveClock(boot: "", origin: 0, skew: 0, seen: 0)

    /// Looks at a file, which need not exist. Changes nothing.
    ///
    /// - Throws: ``StoreOpenError``
    package init(_ lock: DatabaseLock) throws(StoreOpenError) {
        self.lock = lock
        let path = lock.databasePath
        place = path
        content = try Self.content(of: path)
    }

    private static func content(of path: String) throws(StoreOpenError) -> MoveContent {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return .nothing }
        try SQLiteJobStore.checkHeader(ofDatabaseAt: path)
        return try mappingErrors(at: path) { () throws(SQLiteError) in
            let connection = try Connection.toLook(at: path)
            switch try connection.applicationID() {
            case Migration.movedID: return .moved(try connection.mark())
            case Migration.unfinishedID: return .unfinished(try connection.mark())
            default:
                for (table, name) in [
                    ("job", "jobs"), ("definition", "definitions"), ("graph_definition", "graph definitions"),
                    ("schedule", "schedules"), ("idempotency", "keys"),
                ] where try connection.integer(SQL(trusted: "SELECT 1 FROM \(table) LIMIT 1")) != nil {
                    return .jobs(name)
                }
                return .nothing
            }
        }
    }

    package func begin(_ mark: MoveMark, _ clock: MoveClock) throws {
        switch content {
        case .unfinished: try removeFiles()
        case .moved: try setAside(mark.at)
        case .nothing, .jobs: break
        }
        let connection = try Opening(lock, .moving).open { (connection) throws(StoreOpenError) in connection }
        self.connection = connection
        self.clock = clock
        try connection.transaction { () throws(SQLiteError) in
            try connection.writeMark(mark, applicationID: Migration.unfinishedID)
            try connection.execute(
                "DELETE FROM tally; DELETE FROM queue; DELETE FROM kind; DELETE FROM daemon")
            let update = try RowStatement(
                "UPDATE clock SET boot = ?1, origin_ms = ?2, skew_ms = ?3 WHERE id = 1", on: connection)
            try update.bind(clock.boot, to: 1)
            try update.bind(clock.origin, to: 2)
            try update.bind(clock.skew, to: 3)
            try update.run()
        }
        try connection.checkpointIfPossible()
        // The mark is durable. Rows that a power cut loses are copied again.
        try connection.execute("PRAGMA synchronous = NORMAL")
        try connection.disableForeignKeys()
        writing = FactWriting(connection, clock)
    }

    /// Removes a file that contains nothing but rows of an unfinished move.
    private func removeFiles() throws {
        for path in [place, place + "-wal", place + "-shm"] where unlink(path) != 0 && errno != ENOENT {
            throw StoreOpenError.system(operation: "remove the unfinished", path: path, code: errno)
        }
    }

    /// Renames a file whose jobs were moved away.
    private func setAside(_ now: Timestamp) throws {
        let time = now.iso8601.filter { $0.isNumber || $0 == "T" }
        var name = "\(place).moved-\(time)"
        // An older file of this name must not be replaced.
        var number = 2
        while access(name, F_OK) == 0 {
            name = "\(place).moved-\(time)-\(number)"
            number += 1
        }
        for end in ["-wal", "-shm", ""] where rename(place + end, name + end) != 0 && errno != ENOENT {
            throw StoreOpenError.system(operation: "set aside", path: place + end, code: errno)
        }
    }

    package func add(_ batch: FactBatch) throws { try writing?.add(batch) }

    package func complete() throws {
        let connection = try open()
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute("UPDATE tally SET steady_ms = \(clock.seen)")
        }
        if let violation = try connection.firstForeignKeyViolation() {
            throw MoveFailure(
                .refused,
                "Rows of \(violation.table) refer to rows of \(violation.parent) that do not exist, so the jobs cannot be moved; another program changed the source."
            )
        }
    }

    package func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try open().read(table, body) }

    package func markVerified() throws {
        let connection = try open()
        try connection.execute("PRAGMA synchronous = FULL; UPDATE move SET is_verified = 1")
    }

    package func finish() throws {
        let connection = try open()
        try connection.execute("PRAGMA synchronous = FULL")
        try connection.transaction { () throws(SQLiteError) in try connection.removeMark() }
        if try connection.checkpointIfPossible() { try connection.enable(.checkpointsOnClose) }
    }

    /// Returns the connection. Opens it if an earlier process has copied the rows, so that ``begin(_:_:)`` was not
    /// called.
    private func open() throws -> Connection {
        if let connection { return connection }
        let new = try Connection(path: place, access: .readWrite)
        try new.leaveWALFilesOnClose()
        connection = new
        return new
    }
}
