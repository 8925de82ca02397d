import SQLite

/// Migrates the tables from the previous version of the schema to `version`. A released migration never changes, and
/// no migration goes back to an older version.
///
/// The views contain no data, so a migration does not describe them: ``run(on:)`` replaces them with the current
/// ``views``.
struct Migration: Sendable {
    enum Step: Sendable {
        case sql(SQL)
        case rebuild(TableRebuild)
        /// A step that SQL alone cannot express.
        case swift(@Sendable (Connection) throws(SQLiteError) -> Void)
    }

    let version: Int64
    let steps: [Step]

    static let all: [Migration] = [.m001, .m002, .m003, .m004, .m005, .m006, .m007, .m008]

    /// The schema version that this release writes to `PRAGMA user_version`.
    static let current: Int64 = 8

    /// Identifies a Halyard database in `PRAGMA application_id`: "HALY" in ASCII.
    static let applicationID: Int64 = 0x4841_4C59

    /// Carries out the steps in the caller's transaction. Foreign keys must be off.
    func run(on connection: Connection) throws(SQLiteError) {
        let old = try dropViews(of: connection)
        for step in steps {
            switch step {
            case .sql(let script): try connection.execute(script)
            case .rebuild(let table): try table.run(on: connection)
            case .swift(let change): try change(connection)
            }
        }
        for (_, sql) in Self.views { try connection.execute(sql) }
        let names = Set(Self.views.map(\.key))
        for view in old where !names.contains(view.name) { try connection.execute(view.sql) }
    }

    /// Drops all views, including ones that a user added, and returns their SQL: a table cannot be renamed while a view
    /// refers to its old name.
    private func dropViews(of connection: Connection) throws(SQLiteError) -> [(name: String, sql: SQL)] {
        let views = try connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid")
            .all { (name: $0.string(0), sql: SQL(trusted: $0.string(1))) }
        for view in views {
            try connection.execute(SQL(trusted: "DROP VIEW \"\(view.name.replacing("\"", with: "\"\""))\""))
        }
        return views
    }
}
