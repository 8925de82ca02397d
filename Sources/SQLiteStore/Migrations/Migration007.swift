import SQLite

extension Migration {
    /// A job has a checkpoint while it is open, if an attempt saved one.
    static let m007 = Migration(version: 7, steps: [.sql(checkpoints)])

    private static let checkpoints: SQL = """
        -- The last checkpoint of a job that is not final, and the attempt that saved it.
        CREATE TABLE checkpoint (
            job_id   INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
            attempt  INTEGER NOT NULL,
            saved_ms INTEGER NOT NULL,
            value    TEXT NOT NULL,
            CONSTRAINT checkpoint_attempt CHECK (attempt >= 1),
            CONSTRAINT checkpoint_size CHECK (length(CAST(value AS BLOB)) <= 65536)
        ) STRICT;
        """
}
