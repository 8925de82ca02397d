import Glibc
import SQLite

extension Connection {
    /// Migrates an older database, one transaction per migration. If a migration fails or the process dies during it,
    /// the database stays at the previous version.
    ///
    /// Foreign keys are off during the migrations and on again when this returns or throws: with them on, dropping the
    /// old table of a rebuild would delete the rows that refer to it. The pragma has no effect inside a transaction.
    func migrate(path: String, through migrations: [Migration] = Migration.all) throws(StoreOpenError) {
        let found = try opening(path) { () throws(SQLiteError) in try integer("PRAGMA user_version") ?? 0 }
        let missing = migrations.filter { $0.version > found }
        if missing.isEmpty { return }
        let needed = try roomToMigrate(path: path)
        try checkRoom(atLeast: needed, path: path, found: found)
        try opening(path) { () throws(SQLiteError) in try disableForeignKeys() }
        var failure: StoreOpenError?
        do throws(StoreOpenError) {
            for migration in missing { try carryOut(migration, path: path) }
            // Otherwise the daemon's first commit would copy the whole log while callers wait for it.
            try opening(path) { () throws(SQLiteError) in try checkpointIfPossible() }
        } catch {
            failure = error
        }
        do throws(StoreOpenError) {
            try opening(path) { () throws(SQLiteError) in try enable(.foreignKeys) }
            try assert("PRAGMA foreign_keys", is: "1", path)
        } catch {
            throw failure ?? error
        }
        if case .diskFull = failure {
            throw .noRoomToMigrate(
                path: path, found: found, needed: Migration.current,
                freeBytes: DatabaseLocation.freeBytes(at: path) ?? 0, neededBytes: needed)
        }
        if let failure { throw failure }
    }

    private func carryOut(_ migration: Migration, path: String) throws(StoreOpenError) {
        try opening(path) { () throws(SQLiteError) in try execute("BEGIN IMMEDIATE") }
        do throws(StoreOpenError) {
            try opening(path) { () throws(SQLiteError) in try migration.run(on: self) }
            try checkForeignKeys(path: path)
            try opening(path) { () throws(SQLiteError) in
                try stamp(migration.version)
                try execute("COMMIT")
            }
        } catch {
            // Some errors have already rolled back. Losing the error of this rollback is harmless: without a COMMIT in
            // the log nothing happened, and the connection is no longer used.
            if !isAutocommit { try? execute("ROLLBACK") }
            throw error
        }
    }

    private func checkForeignKeys(path: String) throws(StoreOpenError) {
        let violation = try opening(path) { () throws(SQLiteError) in try firstForeignKeyViolation() }
        guard let violation else { return }
        throw .danglingRows(path: path, table: violation.table, parent: violation.parent)
    }

    /// Runs in the caller's transaction.
    func stamp(_ version: Int64) throws(SQLiteError) {
        // A pragma takes no parameters.
        try execute(text: "PRAGMA application_id = \(Migration.applicationID); PRAGMA user_version = \(version)")
    }

    private func checkpointIfPossible() throws(SQLiteError) {
        do throws(SQLiteError) {
            try checkpoint()
        } catch {
            switch error.primary {
            // A reader is active, or the disk is full: the pages stay in the log.
            case .busy, .locked, .full: return
            default: throw error
            }
        }
    }

    // MARK: Room

    /// The log takes a copy of each page that changes, and each new table exists beside the old one until the old one
    /// is dropped.
    private func roomToMigrate(path: String) throws(StoreOpenError) -> Int64 {
        try opening(path) { () throws(SQLiteError) in
            let pages = try (integer("PRAGMA page_count") ?? 0) - (integer("PRAGMA freelist_count") ?? 0)
            return try pages * 2 * (integer("PRAGMA page_size") ?? 4096)
        }
    }

    private func checkRoom(atLeast needed: Int64, path: String, found: Int64) throws(StoreOpenError) {
        guard let free = DatabaseLocation.freeBytes(at: path), free < needed else { return }
        throw .noRoomToMigrate(
            path: path, found: found, needed: Migration.current, freeBytes: free, neededBytes: needed)
    }
}

/// Runs statements during the opening of a database and maps their errors.
private func opening<Value>(
    _ path: String, _ body: () throws(SQLiteError) -> Value
) throws(StoreOpenError) -> Value {
    do throws(SQLiteError) {
        return try body()
    } catch {
        throw StoreOpenError(error, path: path)
    }
}
