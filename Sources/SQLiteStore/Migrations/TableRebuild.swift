import SQLite

/// Replaces a table with a new one that has the same rows. SQLite can change constraints only in this way: create, copy,
/// drop, rename.
///
/// If foreign keys were on, the drop would delete every row that refers to the old table.
/// ``Connection/migrate(path:through:)`` switches them off, and checks them before the commit.
struct TableRebuild: Sendable {
    let table: SQL
    /// Creates `new_<table>` and its indexes. The indexes exist before the rows: SQLite sorts the keys of a later index
    /// in memory, and a database may have millions of rows.
    let create: SQL
    /// The columns of the new table that are not copied from a column of the same name, with their values.
    var values: [String: SQL] = [:]

    func run(on connection: Connection) throws(SQLiteError) {
        let before = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
        try connection.execute(create)
        let columns = try connection.prepare("SELECT name FROM pragma_table_info('new_\(table)')").all { $0.string(0) }
        let sources = columns.map { values[$0]?.description ?? "\"\($0)\"" }.joined(separator: ", ")
        // Rows are read, and therefore added, in the order of the primary key.
        try connection.execute("INSERT INTO new_\(table) SELECT \(SQL(trusted: sources)) FROM \(table) NOT INDEXED")
        let after = try connection.integer("SELECT count(*) FROM new_\(table)") ?? 0
        guard before == after else {
            throw SQLiteError(
                code: SQLiteError.Primary.mismatch.rawValue,
                message: "the copy of table \(table) has \(after) of \(before) rows")
        }
        try connection.execute("DROP TABLE \(table); ALTER TABLE new_\(table) RENAME TO \(table)")
    }
}
