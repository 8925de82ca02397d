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
    /// Copies every row from `<table>` to `new_<table>`.
    let copy: SQL

    func run(on connection: Connection) throws(SQLiteError) {
        let before = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
        try connection.execute(create)
        try connection.execute(copy)
        let after = try connection.integer("SELECT count(*) FROM new_\(table)") ?? 0
        guard before == after else {
            throw SQLiteError(
                code: SQLiteError.Primary.mismatch.rawValue,
                message: "the copy of table \(table) has \(after) of \(before) rows")
        }
        try connection.execute("DROP TABLE \(table); ALTER TABLE new_\(table) RENAME TO \(table)")
    }
}
