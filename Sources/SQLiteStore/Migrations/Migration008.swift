import SQLite

extension Migration {
    /// A queue may have a limit for each daemon, and a daemon may serve only some kinds.
    static let m008 = Migration(
        version: 8,
        steps: [
            .sql(
                """
                ALTER TABLE queue ADD COLUMN limit_per_daemon INTEGER
                    CONSTRAINT queue_limit_per_daemon CHECK (limit_per_daemon BETWEEN 1 AND 10000)
                """), .sql("ALTER TABLE daemon ADD COLUMN kinds TEXT"),
        ])
}
