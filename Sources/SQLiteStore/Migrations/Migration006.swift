import SQLite

extension Migration {
    /// A job names the life of the daemon that claimed it, and the settings have a version, with which a change states
    /// what it was checked against.
    static let m006 = Migration(
        version: 6,
        steps: [
            .sql("ALTER TABLE job ADD COLUMN holder_id INTEGER"),
            .sql("ALTER TABLE meta ADD COLUMN settings_version INTEGER NOT NULL DEFAULT 1"), .sql(daemons),
        ])

    private static let daemons: SQL = """
        -- The last life of the daemon. It has ended if left_ms is set, or if no process holds the lock file.
        CREATE TABLE daemon (
            id         INTEGER PRIMARY KEY,
            identity   TEXT NOT NULL,
            name       TEXT NOT NULL,
            host       TEXT NOT NULL,
            version    TEXT NOT NULL,
            queues     TEXT,
            started_ms INTEGER NOT NULL,
            left_ms    INTEGER
        ) STRICT;
        """
}
