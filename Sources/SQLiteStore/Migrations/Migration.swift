import SQLite

/// One step of the schema, from the version before to `version`. Frozen once released; only ever forward.
struct Migration: Sendable {
    let version: Int64
    let scripts: [StaticString]

    static let all: [Migration] = [.m001]

    /// The version this release writes, in `PRAGMA user_version`.
    static let current: Int64 = 1

    /// Marks a file as ours, in `PRAGMA application_id`: "HALY".
    static let applicationID: Int64 = 0x4841_4C59

    /// Runs in the caller's transaction.
    func run(on connection: Connection) throws(SQLiteError) {
        for script in scripts { try connection.execute(script) }
    }
}
