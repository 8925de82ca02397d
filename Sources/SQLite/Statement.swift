import CSQLite

/// A statement that is declared without a connection and prepared once, for one connection: alone by
/// ``Connection/prepare(_:)``, or with its owner's other statements by ``Connection/prepare(statementsOf:)``.
///
/// Every run binds all parameters by their names: `start.run([.job <- job, .now <- now])`. A name is resolved to its
/// index when the statement is prepared. Columns are numbered from 0.
///
/// After a statement has returned a row, step it to its end or call ``reset()``.
public final class Statement<Name: ParameterName>: PreparableStatement {
    public let sql: SQL
    // A pointer, because a run must not pay for checks of exclusive access.
    @usableFromInline let prepared = UnsafeMutablePointer<PreparedStatement>.allocate(capacity: 1)
    // Keeps the database open, and provides the messages of errors.
    @usableFromInline private(set) var connection: Connection?

    public init(_ sql: SQL) {
        self.sql = sql
        prepared.initialize(to: PreparedStatement())
    }

    deinit {
        sqlite3_finalize(prepared.pointee.handle)
        prepared.pointee.indexes?.deallocate()
        prepared.deallocate()
    }

    @usableFromInline package var handle: OpaquePointer? {
        @inlinable get { prepared.pointee.handle }
    }

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

    /// Ends the current run, so that the statement can run again. Its values stay bound.
    @inlinable
    public func reset() { sqlite3_reset(handle) }

    /// Runs the statement to its end and discards any rows.
    @inlinable
    public func run() throws(SQLiteError) { try run([]) }

    /// Runs the statement to its end and discards any rows.
    @inlinable
    public func run<let count: Int>(_ values: [count of Bound<Name>]) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    /// Runs an INSERT, UPDATE or DELETE and returns the number of rows it changed.
    public func runCountingChanges<let count: Int>(_ values: [count of Bound<Name>]) throws(SQLiteError) -> Int {
        try run(values)
        return connection?.changes ?? 0
    }

    /// Whether there is a row.
    @inlinable
    public func exists<let count: Int>(_ values: [count of Bound<Name>]) throws(SQLiteError) -> Bool {
        try first(values) { _ in true } ?? false
    }

    /// Reads the first row; nil if there is none.
    @inlinable
    public func first<Value>(
        _ read: (Statement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        try first([], read)
    }

    /// Reads the first row; nil if there is none.
    @inlinable
    public func first<let count: Int, Value>(
        _ values: [count of Bound<Name>], _ read: (Statement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        try bind(values)
        guard try step() else { return nil }
        defer { reset() }
        return try read(self)
    }

    /// Reads every row.
    @inlinable
    public func all<Value>(_ read: (Statement) throws(SQLiteError) -> Value) throws(SQLiteError) -> [Value] {
        try all([], read)
    }

    /// Reads every row.
    @inlinable
    public func all<let count: Int, Value>(
        _ values: [count of Bound<Name>], _ read: (Statement) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> [Value] {
        try bind(values)
        var found: [Value] = []
        do throws(SQLiteError) {
            while try step() { found.append(try read(self)) }
        } catch {
            reset()
            throw error
        }
        return found
    }

    @usableFromInline
    func failure() -> SQLiteError {
        let error = connection?.error ?? SQLiteError(code: SQLITE_MISUSE, message: "the statement was not prepared")
        sqlite3_reset(handle)
        return error
    }

    // MARK: Preparing

    func prepare(on connection: Connection) throws(SQLiteError) {
        precondition(self.connection == nil, "the statement was prepared before")
        self.connection = connection
        var handle: OpaquePointer?
        try connection.check(
            sqlite3_prepare_v3(
                connection.handle, sql.text, Int32(sql.text.utf8.count), UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil
            ))
        prepared.pointee.handle = handle
        let names = connection.parameterNames(Name.self)
        let indexes = UnsafeMutablePointer<UInt8>.allocate(capacity: names.count + 1)
        indexes.initialize(repeating: 0, count: names.count + 1)
        prepared.pointee.indexes = indexes
        for index in 0..<sqlite3_bind_parameter_count(handle) {
            let name = sqlite3_bind_parameter_name(handle, index + 1).map { String(cString: $0) } ?? "?"
            guard let number = names[name], index < 63 else {
                throw SQLiteError(code: SQLITE_RANGE, message: "no value can be bound to \(name) in: \(sql)")
            }
            indexes[Int(number)] = UInt8(index + 1)
            prepared.pointee.parameters |= 1 << UInt64(index + 1)
        }
    }

    // MARK: Binding

    /// Binds every parameter, for a run by ``step()``. Traps if a value is missing, if a name is not a parameter of the
    /// statement, or if the statement is running.
    @inlinable
    public func bind<let count: Int>(_ values: [count of Bound<Name>]) throws(SQLiteError) {
        var bound: UInt64 = 0
        var code = SQLITE_OK
        for position in values.indices {
            let index = prepared.pointee.indexes?[Int(values[position].name.rawValue)] ?? 0
            bound |= 1 << UInt64(index)
            let result = values[position].value.bind(to: handle, at: Int32(index))
            if result != SQLITE_OK { code = result }
        }
        precondition(bound == prepared.pointee.parameters, "the values are not those of the statement's parameters")
        if code != SQLITE_OK { throw failure(binding: code) }
    }

    @usableFromInline
    func failure(binding code: Int32) -> SQLiteError {
        precondition(code != SQLITE_MISUSE, "the statement is running")
        return failure()
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
}

/// A value that contains only statements and groups of statements.
public protocol StatementGroup {}

/// A ``Statement`` with any names.
protocol PreparableStatement {
    func prepare(on connection: Connection) throws(SQLiteError)
}

/// The state of a ``Statement`` after it is prepared.
@usableFromInline
struct PreparedStatement {
    @usableFromInline var handle: OpaquePointer?
    /// The index of each parameter by the number of its name; 0 for a name that the statement does not have.
    @usableFromInline var indexes: UnsafeMutablePointer<UInt8>?
    /// The statement's parameters: a bit for each index.
    @usableFromInline var parameters: UInt64 = 0
}
