import CSQLite

extension Connection {
    /// How SQLite would find the rows of a statement: the lines of EXPLAIN QUERY PLAN.
    public func queryPlan(of sql: StaticString) throws(SQLiteError) -> [String] {
        try column(3, of: "EXPLAIN QUERY PLAN \(sql)")
    }

    /// The instructions of a statement's program, constraints and foreign keys included: the opcodes of EXPLAIN.
    ///
    /// - Parameter sql: Made of our own text; never put a value of the outside into it.
    public func opcodes(of sql: String) throws(SQLiteError) -> [String] { try column(1, of: "EXPLAIN \(sql)") }

    /// The texts of all statements that are prepared now.
    public var preparedTexts: [String] {
        var texts: [String] = []
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if let text = sqlite3_sql(current) { texts.append(String(cString: text)) }
            statement = sqlite3_next_stmt(handle, current)
        }
        return texts
    }

    /// The virtual machine's steps in all statements since this was last asked: their cost without a clock.
    public func takeStepCount() -> Int {
        var steps = 0
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            steps += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 1))
            statement = sqlite3_next_stmt(handle, current)
        }
        return steps
    }

    private func column(_ column: Int32, of sql: String) throws(SQLiteError) -> [String] {
        let statement = Statement(text: sql, on: self)
        var values: [String] = []
        while try statement.step() { values.append(statement.string(column)) }
        return values
    }
}
