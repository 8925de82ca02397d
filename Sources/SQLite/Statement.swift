import CSQLite

/// A prepared statement. Parameters are numbered from 1, in the order in which they first appear; columns are numbered
/// from 0.
///
/// Values stay bound until they are bound again. After a statement has returned a row, step it to its end or call
/// ``reset()``.
public struct Statement: ~Copyable {
    /// Nil if the statement could not be prepared. SQLite answers every call for it with an error.
    @usableFromInline let handle: OpaquePointer?
    // Keeps the database open, and provides the messages of errors.
    @usableFromInline let connection: Connection

    init(_ sql: SQL, on connection: Connection) {
        self.connection = connection
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection.handle, sql.text, Int32(sql.text.utf8.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        handle = prepared
        if code != SQLITE_OK, connection.preparationError == nil { connection.preparationError = connection.error }
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Running

    /// Takes one step. At the end, or after an error, the statement is reset.
    ///
    /// - Returns: True if there is a row; false at the end.
    /// - Throws: ``SQLiteError``.
    @inlinable
    public func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return false
        }
        throw failure()
    }

    /// Runs a statement to its end and discards any rows.
    @inlinable
    public func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Runs an INSERT, UPDATE or DELETE and returns the number of rows it changed.
    public func runCountingChanges() throws(SQLiteError) -> Int {
        try run()
        return connection.changes
    }

    /// Ends the current run, so that the statement can run again. Its values stay bound.
    @inlinable
    public func reset() { sqlite3_reset(handle) }

    @usableFromInline
    func failure() -> SQLiteError {
        let error =
            handle == nil
            ? connection.preparationError ?? SQLiteError(code: SQLITE_MISUSE, message: "an empty statement")
            : connection.error
        sqlite3_reset(handle)
        return error
    }

    // MARK: Binding

    /// Binds an integer. Traps if there is no such parameter, or if the statement is running.
    @inlinable
    public func bind(_ parameter: Int32, _ value: Int64) {
        let code = sqlite3_bind_int64(handle, parameter, value)
        precondition(code == SQLITE_OK || handle == nil, "no such parameter, or the statement is running")
    }

    @inlinable
    public func bind(_ parameter: Int32, _ value: Int) { bind(parameter, Int64(value)) }

    /// Binds NULL. Traps if there is no such parameter, or if the statement is running.
    @inlinable
    public func bindNull(_ parameter: Int32) {
        let code = sqlite3_bind_null(handle, parameter)
        precondition(code == SQLITE_OK || handle == nil, "no such parameter, or the statement is running")
    }

    /// Binds an integer, or NULL for nil.
    @inlinable
    public func bind(_ parameter: Int32, _ value: Int64?) {
        if let value { bind(parameter, value) } else { bindNull(parameter) }
    }

    /// Binds a copy of the text.
    public func bind(_ parameter: Int32, _ text: String?) throws(SQLiteError) {
        guard var text else { return bindNull(parameter) }
        let code = text.withUTF8 { bindCopy(parameter, $0) }
        try connection.check(code)
    }

    /// Binds a copy of UTF-8 bytes as text.
    public func bind(_ parameter: Int32, text bytes: [UInt8]?) throws(SQLiteError) {
        guard let bytes else { return bindNull(parameter) }
        let code = bytes.withUnsafeBufferPointer { bindCopy(parameter, $0) }
        try connection.check(code)
    }

    /// Binds a copy of the bytes as a blob.
    public func bind(_ parameter: Int32, blob bytes: [UInt8]) throws(SQLiteError) {
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
        let code = bytes.withUnsafeBytes { buffer in
            sqlite3_bind_blob64(handle, parameter, buffer.baseAddress, UInt64(buffer.count), copied)
        }
        try connection.check(code)
    }

    /// Binds UTF-8 bytes as text without copying them. The binding lasts only while `body` runs, so `body` must step
    /// the statement to its end or reset it.
    @inlinable
    public func withBound(
        _ parameter: Int32, text bytes: [UInt8], _ body: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(SQLiteError) in
            // A null pointer would bind NULL. The destructor nil is SQLITE_STATIC: SQLite makes no copy.
            let start = UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
            let code = sqlite3_bind_text64(
                handle, parameter, start ?? emptyText, UInt64(buffer.count), nil, UInt8(SQLITE_UTF8))
            if code != SQLITE_OK { throw failure() }
            try body()
        }
    }

    private func bindCopy(_ parameter: Int32, _ buffer: UnsafeBufferPointer<UInt8>) -> Int32 {
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
        let start = UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
        return sqlite3_bind_text64(
            handle, parameter, start ?? emptyText, UInt64(buffer.count), copied, UInt8(SQLITE_UTF8))
    }

    // MARK: Columns of the current row

    /// The value of a column as an integer; 0 for NULL.
    @inlinable
    public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    @inlinable
    public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The value of a column as an integer; nil for NULL.
    @inlinable
    public func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// The bytes of a text or a blob; nil for NULL.
    public func bytes(_ column: Int32) -> [UInt8]? {
        if isNull(column) { return nil }
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The value of a column as text; empty for NULL.
    public func string(_ column: Int32) -> String { optionalString(column) ?? "" }

    /// The value of a column as text; nil for NULL.
    public func optionalString(_ column: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    public var columnCount: Int32 { sqlite3_column_count(handle) }

    public func columnName(_ column: Int32) -> String {
        sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }
}

/// The address of an empty text.
@usableFromInline
var emptyText: UnsafePointer<CChar> {
    let text: StaticString = ""
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
