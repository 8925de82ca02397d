import SQLite

/// Columns that migration 1 creates and migration 2 keeps unchanged. Frozen, as the migrations are: a later change of a
/// column belongs into the migration that makes it.
extension Migration {
    static let queueColumns: SQL = """
            id          INTEGER PRIMARY KEY,
            name        TEXT NOT NULL,
            concurrency INTEGER NOT NULL,
            weight      INTEGER NOT NULL,
            paused_ms   INTEGER,
            removed_ms  INTEGER,
        """

    static let definitionColumns: SQL = """
            id           INTEGER PRIMARY KEY,
            name         TEXT NOT NULL,
            revision     INTEGER NOT NULL,
            kind         TEXT NOT NULL,
            summary      TEXT,
            queue        TEXT NOT NULL,
            priority     INTEGER NOT NULL,
            retry        TEXT NOT NULL,
            max_attempts INTEGER NOT NULL,
            timeout_ms   INTEGER,
            input        TEXT NOT NULL,
            updated_ms   INTEGER NOT NULL,
            replaced_ms  INTEGER,
            problem      TEXT,
        """

    static let graphDefinitionColumns: SQL = """
            id          INTEGER PRIMARY KEY,
            name        TEXT NOT NULL,
            revision    INTEGER NOT NULL,
            body        TEXT NOT NULL,
            updated_ms  INTEGER NOT NULL,
            replaced_ms INTEGER,
            problem     TEXT,
        """

    static let scheduleColumns: SQL = """
            name          TEXT PRIMARY KEY,
            revision      INTEGER NOT NULL,
            body          TEXT NOT NULL,
            updated_ms    INTEGER NOT NULL,
            after_ms      INTEGER NOT NULL,
            next_ms       INTEGER,
            paused_ms     INTEGER,
            last_ms       INTEGER,
            last_job_id   INTEGER,
            last_graph_id INTEGER,
            skipped_ms    INTEGER,
            problem       TEXT,
        """

    static let graphColumns: SQL = """
            id          INTEGER PRIMARY KEY,
            name        TEXT,
            enqueued_ms INTEGER NOT NULL,
            finished_ms INTEGER,
            blocked     INTEGER NOT NULL,
            scheduled   INTEGER NOT NULL,
            ready       INTEGER NOT NULL,
            running     INTEGER NOT NULL,
            succeeded   INTEGER NOT NULL,
            failed      INTEGER NOT NULL,
            cancelled   INTEGER NOT NULL,
            skipped     INTEGER NOT NULL,
        """

    static let jobColumns: SQL = """
            id            INTEGER PRIMARY KEY,
            state         INTEGER NOT NULL,
            queue_id      INTEGER NOT NULL REFERENCES queue (id),
            priority      INTEGER NOT NULL,
            definition_id INTEGER NOT NULL REFERENCES definition (id),
            graph_id      INTEGER REFERENCES graph (id),
            node          TEXT,
            attempt       INTEGER NOT NULL,
            tries         INTEGER NOT NULL,
            rescues       INTEGER NOT NULL,
            dependencies  INTEGER NOT NULL,
            pending       INTEGER NOT NULL,
            enqueued_ms   INTEGER NOT NULL,
            due_ms        INTEGER,
        """

    static let kindColumns: SQL = """
            name        TEXT PRIMARY KEY,
            summary     TEXT NOT NULL,
            input_type  TEXT NOT NULL,
            output_type TEXT NOT NULL,
            accepts     TEXT,
            offers      TEXT NOT NULL,
            fields      TEXT NOT NULL,
        """
}
