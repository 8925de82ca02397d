import CSQLite

/// A statement whose parameters are `?1`, `?2` and so on, for rows whose columns are known only at run time.
public final class RowStatement {
    private let connection: Connection
    private var handle: OpaquePointer?

    /// Prepares one statement.
    public init(_ sql: SQL, on connection: Connection) throws(SQLiteError) {
        self.connection = connection
        try connection.check(
            sqlite3_prepare_v3(
                connection.handle, sql.text, Int32(sql.text.utf8.count), UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil
            ))
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds a value to the parameter with this number; the first is 1. The value stays bound until it is replaced.
    public func bind(_ value: some Bindable, to parameter: Int) throws(SQLiteError) {
        try connection.check(value.boundValue.bind(to: handle, at: Int32(parameter)))
    }

    /// Runs the statement to its end and discards any rows.
    public func run() throws(SQLiteError) { while try step() {} }

    /// Takes one step. At the end, or after an error, the statement is reset.
    ///
    /// - Returns: True if there is a row; false at the end.
    public func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return false
        }
        let error = connection.error
        sqlite3_reset(handle)
        throw error
    }

    /// Ends the current run.
    public func reset() { sqlite3_reset(handle) }

    /// The value of a column as an integer; nil for NULL. The first column is 0.
    public func optionalInteger(_ column: Int) -> Int64? {
        sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, Int32(column))
    }

    /// The bytes of a text or a blob; nil for NULL. The first column is 0.
    public func bytes(_ column: Int) -> [UInt8]? {
        if sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL { return nil }
        guard let start = sqlite3_column_blob(handle, Int32(column)) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
    }
}
