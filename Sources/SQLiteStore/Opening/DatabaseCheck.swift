import Glibc
import SQLite

extension SQLiteJobStore {
    /// Checks whether a start with this database would succeed. Changes nothing and creates nothing.
    ///
    /// Checks the content as a start does, unless a process holds the database or its log must be recovered first.
    ///
    /// - Throws: The error that a start would throw, or ``StoreOpenError/missingFile(path:)`` if a start would create
    ///   the database.
    public static func check(databaseAt path: String, options: StoreOptions = StoreOptions()) throws(StoreOpenError) {
        let location = try DatabaseLocation(path)
        try location.checkFreeSpace(atLeast: options.minimumFreeBytes)
        do throws(StoreOpenError) {
            try checkHeader(ofDatabaseAt: location.path)
        } catch {
            if case .missingFile = error { try location.refuseStrayLog() }
            throw error
        }
        try location.checkNames()
        // Losing the error is harmless: the checks continue as if no process held the database.
        if (try? DatabaseLock.holder(ofDatabaseAt: path)) != nil { return }
        guard let size = try location.fileSize(), !location.hasLog else { return }
        do throws(StoreOpenError) {
            try location.checkContent(isWhole: size <= options.checkedBytes)
        } catch {
            guard error.mayBeMisread else { throw error }
            location.forgetCache(of: location.path)
            try location.checkContent(isWhole: size <= options.checkedBytes)
        }
    }
}

extension DatabaseLocation {
    fileprivate func checkContent(isWhole: Bool) throws(StoreOpenError) {
        let connection: Connection
        do throws(SQLiteError) {
            connection = try Connection(path: path, access: .readOnlyAlone)
        } catch {
            throw StoreOpenError(error, path: path)
        }
        try connection.checkOwner(path: path)
        if isWhole { try connection.checkWhole(path: path, "PRAGMA quick_check(1)") }
    }
}
