import Glibc
import SQLite

extension SQLiteJobStore {
    /// Finds what would prevent a start with a database, and changes and creates nothing.
    ///
    /// The content is checked as the start does it, unless a process holds the database or its log has to be recovered
    /// first.
    ///
    /// - Throws: What opening it would throw; `missingFile` where a start would create it.
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
        // Losing the error is harmless: then nobody is known to hold it, or the folder's own problem is found.
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
