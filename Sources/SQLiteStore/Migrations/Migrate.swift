import Glibc
import SQLite

extension Connection {
    /// Migrates an older database, one transaction per migration. If a migration fails or the process dies during it,
    /// the database stays at the previous version.
    ///
    /// Foreign keys are off during the migrations and on again when this returns or throws. If they stayed on, dropping
    /// the old table of a rebuild would delete the rows that refer to it. They are switched off outside the
    /// transactions, because the pragma has no effect inside one.
    func migrate(path: String, through migrations: [Migration] = Migration.all) throws(StoreOpenError) {
        let found = try mappingErrors(at: path) { () throws(SQLiteError) in try integer("PRAGMA user_version") ?? 0 }
        let missing = migrations.filter { $0.version > found }
        if missing.isEmpty { return }
        let needed = try roomToMigrate(path: path)
        try checkRoom(atLeast: needed, path: path, found: found)
        try mappingErrors(at: path) { () throws(SQLiteError) in try disableForeignKeys() }
        var failure: StoreOpenError?
        do throws(StoreOpenError) {
            for migration in missing { try carryOut(migration, path: path) }
            // Without this checkpoint, the daemon's first commit would copy the whole log while callers wait for it.
            try mappingErrors(at: path) { () throws(SQLiteError) in _ = try checkpointIfPossible() }
        } catch {
            failure = error
        }
        do throws(StoreOpenError) {
            try mappingErrors(at: path) { () throws(SQLiteError) in try enable(.foreignKeys) }
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
        try mappingErrors(at: path) { () throws(SQLiteError) in try execute("BEGIN IMMEDIATE") }
        do throws(StoreOpenError) {
            try mappingErrors(at: path) { () throws(SQLiteError) in try migration.run(on: self) }
            try checkForeignKeys(path: path)
            try mappingErrors(at: path) { () throws(SQLiteError) in
                try stamp(migration.version)
                try execute("COMMIT")
            }
        } catch {
            // After some errors SQLite has already rolled back. Losing the error of this rollback is harmless: without
            // a COMMIT in the log nothing happened, and the connection is no longer used.
            if !isAutocommit { try? execute("ROLLBACK") }
            throw error
        }
    }

    private func checkForeignKeys(path: String) throws(StoreOpenError) {
        let violation = try mappingErrors(at: path) { () throws(SQLiteError) in try firstForeignKeyViolation() }
        guard let violation else { return }
        throw .danglingRows(path: path, table: violation.table, parent: violation.parent)
    }

    /// Sets the application id and the schema version, in the caller's transaction.
    func stamp(_ version: Int64) throws(SQLiteError) {
        // A pragma accepts no bound parameters, so the numbers become part of the SQL.
        try execute("PRAGMA application_id = \(Migration.applicationID); PRAGMA user_version = \(version)")
    }

    // MARK: Free space

    /// Estimates how many bytes the migrations write. Each changed page is copied into the log, and each new table
    /// exists next to the old one until the old one is dropped.
    private func roomToMigrate(path: String) throws(StoreOpenError) -> Int64 {
        try mappingErrors(at: path) { () throws(SQLiteError) in
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
