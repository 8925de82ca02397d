import CSQLite

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

    /// Reads a column of every row of an EXPLAIN statement, which runs nothing, so that its parameters need no values.
    private func column(_ column: Int32, of sql: SQL) throws(SQLiteError) -> [String] {
        var handle: OpaquePointer?
        defer { sqlite3_finalize(handle) }
        try check(sqlite3_prepare_v2(self.handle, sql.text, Int32(sql.text.utf8.count), &handle, nil))
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
