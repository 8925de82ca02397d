import SQLite

/// One step of the schema, from the version before to `version`. Frozen once released; only ever forward.
struct Migration: Sendable {
    enum Step: Sendable {
        case sql(StaticString)
        case rebuild(TableRebuild)
        /// For what SQL alone cannot express.
        case swift(@Sendable (Connection) throws(SQLiteError) -> Void)
    }

    let version: Int64
    let steps: [Step]

    static let all: [Migration] = [.m001, .m002, .m003]

    /// The version this release writes, in `PRAGMA user_version`.
    static let current: Int64 = 3

    /// Marks a file as ours, in `PRAGMA application_id`: "HALY".
    static let applicationID: Int64 = 0x4841_4C59

    /// Runs in the caller's transaction, with foreign keys off.
    func run(on connection: Connection) throws(SQLiteError) {
        for step in steps {
            switch step {
            case .sql(let script): try connection.execute(script)
            case .rebuild(let table): try table.run(on: connection)
            case .swift(let change): try change(connection)
            }
        }
    }
}
