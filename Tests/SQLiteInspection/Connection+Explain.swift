import CSQLite
import SQLite

/// Tests use it to read facts about prepared statements.
extension Connection {
    /// The query plan of a statement: the lines of EXPLAIN QUERY PLAN. Does not run the statement.
    ///
    /// - Throws: ``SQLiteError`` if the statement is invalid.
    public func queryPlan(of sql: SQL) throws(SQLiteError) -> [String] {
        try column(3, of: "EXPLAIN QUERY PLAN \(sql)")
    }

    /// The opcodes of a statement's program, as EXPLAIN lists them. They include the program's checks of constraints
    /// and foreign keys. Does not run the statement.
    ///
    /// - Throws: ``SQLiteError`` if the statement is invalid.
    public func opcodes(of sql: SQL) throws(SQLiteError) -> [String] { try column(1, of: "EXPLAIN \(sql)") }

    /// The SQL of every statement that is currently prepared.
    public var preparedTexts: [SQL] {
        var texts: [SQL] = []
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if let text = sqlite3_sql(current) { texts.append(SQL(trusted: String(cString: text))) }
            statement = sqlite3_next_stmt(handle, current)
        }
        return texts
    }

    /// The number of virtual machine steps that all statements have taken since the last call. This measures their cost
    /// without a clock.
    public func takeStepCount() -> Int {
        var steps = 0
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            steps += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 1))
            statement = sqlite3_next_stmt(handle, current)
        }
        return steps
    }

    /// The largest permitted size of a value or a row, in bytes.
    public var lengthLimit: Int32 { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1) }

    /// Reads a column of every row of an EXPLAIN statement, which runs nothing, so that its parameters need no values.
    private func column(_ column: Int32, of sql: SQL) throws(SQLiteError) -> [String] {
        var handle: OpaquePointer?
        defer { sqlite3_finalize(handle) }
        try check(sqlite3_prepare_v2(self.handle, sql.description, Int32(sql.description.utf8.count), &handle, nil))
        var lines: [String] = []
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: lines.append(sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return lines
            case let code: try check(code)
            }
        }
    }
}

extension Statement {
    /// The number of columns in the result.
    public var columnCount: Int32 { sqlite3_column_count(handle) }

    public func columnName(_ column: Int32) -> String {
        sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }
}
