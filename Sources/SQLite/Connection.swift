import CSQLite

/// One connection to a database file, for one thread at a time.
///
/// It closes when the last reference to it and to its statements goes.
public final class Connection {
    public enum Access: Sendable {
        case readOnly
        /// Reads a file that nothing writes to meanwhile, without a lock, a log or any other file.
        case readOnlyAlone
        case readWrite
        case readWriteCreate
    }

    /// A tenth of the time of small writes. Harmless where another user of SQLite in the process came first.
    private static let settingsOfTheProcess = halyard_sqlite3_without_memory_statistics()

    let handle: OpaquePointer
    var preparationError: SQLiteError?
    private let walPagesCell: UnsafeMutablePointer<Int32>

    public init(path: String, access: Access) throws(SQLiteError) {
        _ = Self.settingsOfTheProcess
        let flags =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readOnlyAlone: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        var opened: OpaquePointer?
        // NOMUTEX: no lock inside SQLite, since one thread at a time uses a connection.
        let name = access == .readOnlyAlone ? Self.aloneURI(of: path) : path
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteError(
                code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        walPagesCell = .allocate(capacity: 1)
        walPagesCell.initialize(to: 0)
    }

    private static func aloneURI(of path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        let escaped = path.utf8.map { byte -> String in
            let isPlain =
                byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "?")
                && byte != UInt8(ascii: "#")
            return isPlain ? String(UnicodeScalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
        return "file:" + escaped.joined() + "?immutable=1"
    }

    deinit {
        // close_v2 waits for statements that are still alive.
        sqlite3_close_v2(handle)
        walPagesCell.deallocate()
    }

    var error: SQLiteError { error(code: sqlite3_extended_errcode(handle)) }

    func check(_ code: Int32) throws(SQLiteError) {
        if code != SQLITE_OK { throw error(code: code) }
    }

    /// SQLite reports a read that failed with EIO as damage (CORRUPT). Only the file's last errno shows the real cause.
    private func error(code: Int32) -> SQLiteError {
        let error = SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)))
        switch error.primary {
        case .corrupt, .notADatabase: return readFailure ?? error
        default: return error
        }
    }

    /// The error of a failed read of the database or its log, if one failed. After such a failure, apparent damage
    /// proves nothing.
    public var readFailure: SQLiteError? {
        let errno = halyard_sqlite3_failed_call(handle)
        if errno == 0 { return nil }
        return SQLiteError(code: SQLiteError.failedReadCode, message: "reading failed with errno \(errno)")
    }

    // MARK: Statements

    /// Prepares a statement that will be used many times.
    ///
    /// One that cannot be prepared fails at each step; ``checkPreparations()`` tells at once. (An initializer that throws
    /// half way could not fill a struct of statements, which cannot be copied.)
    public func prepare(_ sql: StaticString) -> Statement { Statement(sql, on: self) }

    /// Fails when a statement could not be prepared, with the first such error.
    public func checkPreparations() throws(SQLiteError) {
        if let preparationError { throw preparationError }
    }

    /// Runs every statement of a script, dropping rows.
    public func execute(_ script: StaticString) throws(SQLiteError) {
        try check(sqlite3_exec(handle, script.utf8Start, nil, nil, nil))
    }

    /// The same for SQL built at run time, which must never contain a value from outside.
    public func execute(text script: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// The first value of the first row as an integer; nil when there is no row or the value is NULL.
    public func integer(_ sql: StaticString) throws(SQLiteError) -> Int64? {
        let statement = prepare(sql)
        return try statement.step() ? statement.optionalInteger(0) : nil
    }

    /// The first value of the first row as text; nil when there is no row or the value is NULL.
    public func text(_ sql: StaticString) throws(SQLiteError) -> String? {
        let statement = prepare(sql)
        return try statement.step() ? statement.optionalString(0) : nil
    }

    /// The same for SQL built at run time, which must never contain a value from outside.
    public func integer(text sql: String) throws(SQLiteError) -> Int64? {
        let statement = Statement(text: sql, on: self)
        return try statement.step() ? statement.optionalInteger(0) : nil
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    public var changes: Int { Int(sqlite3_changes(handle)) }

    /// The rowid of the last successful INSERT.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// False between BEGIN and its COMMIT or ROLLBACK; some errors roll back by themselves.
    public var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Ends every statement that an error left half way.
    public func resetStatements() {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            sqlite3_reset(current)
            statement = sqlite3_next_stmt(handle, current)
        }
    }

    /// Frees the pages that are kept in memory only to be fast, as far as no statement reads them.
    ///
    /// - Returns: How many bytes were freed.
    public func releaseMemory() -> Int {
        var used: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0)
        sqlite3_db_release_memory(handle)
        var left: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &left, &highest, 0)
        return Int(used - left)
    }

    // MARK: Settings

    public func setBusyTimeout(milliseconds: Int32) throws(SQLiteError) {
        try check(sqlite3_busy_timeout(handle, milliseconds))
    }

    /// Refuses values and rows of more bytes than this.
    public func setLengthLimit(bytes: Int32) { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, bytes) }

    public var lengthLimit: Int32 { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1) }

    public enum Setting: Sendable {
        /// No SQL can corrupt the file on purpose.
        case defensive
        /// Functions and virtual tables named by the schema itself are not trusted.
        case untrustedSchema
        case foreignKeys
        /// Closing the last connection leaves the WAL unchanged.
        case keepsWALOnClose
        /// Closing the last connection copies the WAL into the database and, if that succeeds, empties the WAL.
        case checkpointsOnClose
    }

    /// Switches a setting on; fails when it did not take.
    public func enable(_ setting: Setting) throws(SQLiteError) {
        let (option, value): (Int32, Int32) =
            switch setting {
            case .defensive: (SQLITE_DBCONFIG_DEFENSIVE, 1)
            case .untrustedSchema: (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            case .foreignKeys: (SQLITE_DBCONFIG_ENABLE_FKEY, 1)
            case .keepsWALOnClose: (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            case .checkpointsOnClose: (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            }
        try check(halyard_sqlite3_db_config(handle, option, value))
    }

    /// Stops enforcing foreign keys, so that tables can be rebuilt. Call it outside a transaction; it throws if it had
    /// no effect.
    public func disableForeignKeys() throws(SQLiteError) {
        precondition(isAutocommit, "inside a transaction SQLite ignores this")
        try check(halyard_sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 0))
    }

    /// The first row with a dangling foreign key, or nil. Reads every row that has a foreign key.
    public func firstForeignKeyViolation() throws(SQLiteError) -> (table: String, parent: String)? {
        let statement = prepare("PRAGMA foreign_key_check")
        return try statement.step() ? (statement.string(0), statement.string(2)) : nil
    }

    // MARK: The write-ahead log

    /// Stops checkpoints at commits; counts the pages in the WAL instead, see ``walPages``.
    public func checkpointByHand() {
        // The cell outlives the hook: both go with this connection.
        sqlite3_wal_hook(
            handle,
            { cell, _, _, pages in
                cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, walPagesCell)
    }

    /// Pages in the WAL after the last commit of this connection.
    public var walPages: Int { Int(walPagesCell.pointee) }

    /// Copies what it can from the WAL into the database without waiting for anybody.
    public func checkpoint() throws(SQLiteError) {
        try check(sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil))
    }
}
