import CSQLite
import Glibc

/// A connection to a database file, for one thread at a time.
///
/// The connection closes when neither it nor one of its statements is referenced any more.
public final class Connection {
    /// The kind of access that a connection has to its file.
    public enum Access: Sendable {
        case readOnly
        /// Reads a file to which no process is writing (`immutable=1`). Takes no lock, ignores a log, and creates no
        /// file.
        case readOnlyAlone
        case readWrite
        /// Reads and writes the file, and creates it if it does not exist.
        case readWriteCreate
    }

    /// Switches off SQLite's memory statistics, which take a tenth of the time of small writes. Has no effect, and does
    /// no harm, if other code in the process has already initialized SQLite.
    private static let settingsOfTheProcess = halyard_sqlite3_without_memory_statistics()

    package let handle: OpaquePointer
    private var parameterNames: [ObjectIdentifier: [String: UInt8]] = [:]
    private let walPagesCell: UnsafeMutablePointer<Int32>
    private let writes: Bool

    /// Opens a connection.
    ///
    /// - Throws: ``SQLiteError`` if the file cannot be opened. SQLite reads the file only when the first statement
    ///   runs, so a damaged file is reported then.
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
        // NOMUTEX: SQLite needs no lock, since only one thread at a time uses a connection.
        let name = access == .readOnlyAlone ? Self.aloneURI(of: path) : path
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteError(
                code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        writes = access == .readWrite || access == .readWriteCreate
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
        // close_v2 postpones the close until the last statement is finalized.
        sqlite3_close_v2(handle)
        walPagesCell.deallocate()
    }

    var error: SQLiteError { error(code: sqlite3_extended_errcode(handle)) }

    package func check(_ code: Int32) throws(SQLiteError) {
        if code != SQLITE_OK { throw error(code: code) }
    }

    /// SQLite reports a read that failed with EIO as damage (CORRUPT). Only the errno of the file's last failed call
    /// shows the real cause. And if SQLite cannot open a file for writing, whatever the reason, it opens the file for
    /// reading, and later reports that as a lack of permission (READONLY).
    private func error(code: Int32) -> SQLiteError {
        let error = SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)))
        switch error.primary {
        case .corrupt, .notADatabase: return readFailure ?? error
        case .readOnly where writes && mayWriteFiles:
            return SQLiteError(
                code: SQLITE_CANTOPEN,
                message: "a file of the database could not be opened for writing; too many files may be open")
        default: return error
        }
    }

    /// Whether permissions and mounts allow this process to write to the database and its other files.
    private var mayWriteFiles: Bool {
        guard let path = sqlite3_db_filename(handle, "main").map({ String(cString: $0) }) else { return false }
        return Glibc.access(path, W_OK) == 0
            && ["-wal", "-shm"].allSatisfy { Glibc.access(path + $0, W_OK) == 0 || errno == ENOENT }
    }

    /// The error of a failed read of the database or its log; nil if no read has failed. After such a failure, apparent
    /// damage proves nothing.
    public var readFailure: SQLiteError? {
        let errno = halyard_sqlite3_failed_call(handle)
        if errno == 0 { return nil }
        return SQLiteError(code: SQLiteError.failedReadCode, message: "reading failed with errno \(errno)")
    }

    // MARK: Statements

    /// Prepares one statement.
    ///
    /// - Throws: ``SQLiteError`` if the statement is invalid, or if it has a parameter that `names` does not contain.
    public func prepare<Name>(
        _ sql: SQL, _ names: Name.Type = NoParameter.self
    ) throws(SQLiteError) -> Statement<Name> {
        let statement = Statement<Name>(sql)
        try statement.prepare(on: self)
        return statement
    }

    /// Prepares every statement that `owner` stores, in its properties, in their arrays and in each
    /// ``StatementGroup``.
    ///
    /// - Throws: The first error, as ``prepare(_:)`` does.
    public func prepare(statementsOf owner: Any) throws(SQLiteError) {
        for (_, value) in Mirror(reflecting: owner).children {
            switch value {
            case let statement as any PreparableStatement: try statement.prepare(on: self)
            case let group as any StatementGroup: try prepare(statementsOf: group)
            case let groups as [any StatementGroup]: try prepare(statementsOf: groups)
            default: break
            }
        }
    }

    /// The number of each parameter name, by the name as written in SQL.
    func parameterNames<Name: ParameterName>(_ names: Name.Type) -> [String: UInt8] {
        if let known = parameterNames[ObjectIdentifier(names)] { return known }
        let all = Dictionary(uniqueKeysWithValues: Name.allCases.map { (":\($0)", $0.rawValue) })
        parameterNames[ObjectIdentifier(names)] = all
        return all
    }

    /// Runs every statement of a script and discards any rows.
    ///
    /// - Throws: The first error. The statements before it have taken effect, unless they are in a transaction that is
    ///   then rolled back.
    public func execute(_ script: SQL) throws(SQLiteError) {
        try check(sqlite3_exec(handle, script.text, nil, nil, nil))
    }

    /// Returns the first value of the first row as an integer. Nil if there is no row or the value is NULL.
    public func integer(_ sql: SQL) throws(SQLiteError) -> Int64? {
        try prepare(sql).first { $0.optionalInteger(0) } ?? nil
    }

    /// Returns the first value of the first row as text. Nil if there is no row or the value is NULL.
    public func text(_ sql: SQL) throws(SQLiteError) -> String? {
        try prepare(sql).first { $0.optionalString(0) } ?? nil
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    public var changes: Int { Int(sqlite3_changes(handle)) }

    /// The rowid of the last successful INSERT.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Whether no transaction is open. After some errors SQLite ends a transaction by itself.
    public var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Resets every statement, including statements that an error has interrupted.
    public func resetStatements() {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            sqlite3_reset(current)
            statement = sqlite3_next_stmt(handle, current)
        }
    }

    /// Frees the cached pages that no statement is reading.
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

    /// Sets how long a statement waits for a lock of another connection before it throws `busy`.
    public func setBusyTimeout(milliseconds: Int32) throws(SQLiteError) {
        try check(sqlite3_busy_timeout(handle, milliseconds))
    }

    /// Limits the size of values and rows. Larger ones are refused with `tooBig`.
    public func setLengthLimit(bytes: Int32) { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, bytes) }

    /// A setting that ``enable(_:)`` switches on.
    public enum Setting: Sendable {
        /// SQL that would deliberately corrupt the file is refused.
        case defensive
        /// Functions and virtual tables that the schema itself names are not trusted.
        case untrustedSchema
        /// Foreign keys are enforced.
        case foreignKeys
        /// Closing the last connection leaves the WAL unchanged.
        case keepsWALOnClose
        /// Closing the last connection copies the WAL into the database. If that succeeds, the WAL is emptied.
        case checkpointsOnClose
    }

    /// Switches a setting on.
    ///
    /// - Throws: ``SQLiteError`` if the setting did not take effect.
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

    /// Stops enforcing foreign keys, so that tables can be rebuilt. Call this outside a transaction.
    ///
    /// - Throws: ``SQLiteError`` if the setting did not take effect.
    public func disableForeignKeys() throws(SQLiteError) {
        precondition(isAutocommit, "inside a transaction SQLite ignores this")
        try check(halyard_sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 0))
    }

    /// Returns the tables of the first row whose foreign key has no target, or nil if there is no such row. Reads every
    /// row that has a foreign key.
    public func firstForeignKeyViolation() throws(SQLiteError) -> (table: String, parent: String)? {
        try prepare("PRAGMA foreign_key_check").first { ($0.string(0), $0.string(2)) }
    }

    // MARK: The write-ahead log

    /// Switches off automatic checkpoints. From then on, each commit stores the number of pages in the WAL in
    /// ``walPages``.
    public func checkpointByHand() {
        // The cell outlives the hook: the connection frees it after it has closed.
        sqlite3_wal_hook(
            handle,
            { cell, _, _, pages in
                cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, walPagesCell)
    }

    /// The number of pages in the WAL after this connection's last commit; 0 before the first commit, and without
    /// ``checkpointByHand()``.
    public var walPages: Int { Int(walPagesCell.pointee) }

    /// Copies as many pages as possible from the WAL into the database. Waits for no reader and no writer.
    ///
    /// - Throws: ``SQLiteError``: `busy` if another connection is checkpointing, `full` if the disk is full. The pages
    ///   stay in the WAL, and trying again later is safe. After any other error, such as a failed sync, the contents of
    ///   the disk are unknown.
    public func checkpoint() throws(SQLiteError) {
        try check(sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil))
    }

    /// Makes a ``checkpoint()`` unless another connection or a full disk prevents it.
    ///
    /// - Returns: False if it was prevented. The pages stay in the WAL.
    @discardableResult
    public func checkpointIfPossible() throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            try checkpoint()
            return true
        } catch {
            switch error.primary {
            case .busy, .locked, .full: return false
            default: throw error
            }
        }
    }
}
