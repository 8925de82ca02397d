extension Migration {
    /// Work that goes on for several transactions: what is open of it, for the next start to resume.
    static let m003 = Migration(version: 3, steps: [.sql(longWork)])

    private static let longWork: StaticString = """
        -- A graph of very many jobs, until they are written. One without a row in graph was never accepted.
        CREATE TABLE staged_part (
            graph_id     INTEGER NOT NULL,
            number       INTEGER NOT NULL,
            first_job_id INTEGER NOT NULL,
            body         BLOB NOT NULL,
            PRIMARY KEY (graph_id, number),
            CONSTRAINT staged_part_numbers CHECK (number >= 0 AND first_job_id > 0)
        ) STRICT;

        -- A final job whose dependents are not all released or skipped, with the last edge that was settled.
        CREATE TABLE settling (
            job_id         INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
            outcome        INTEGER NOT NULL,
            at_ms          INTEGER NOT NULL,
            last_condition INTEGER NOT NULL,
            last_job_id    INTEGER NOT NULL,
            last_position  INTEGER NOT NULL,
            CONSTRAINT settling_outcome CHECK (outcome BETWEEN 4 AND 7)
        ) STRICT;

        -- A graph whose open jobs are being cancelled; those from below_id on have been.
        CREATE TABLE cancelling (
            graph_id INTEGER PRIMARY KEY REFERENCES graph (id) ON DELETE CASCADE,
            asked_ms INTEGER NOT NULL,
            below_id INTEGER NOT NULL
        ) STRICT;

        -- A graph that is being deleted.
        CREATE TABLE pruning (
            graph_id INTEGER PRIMARY KEY REFERENCES graph (id) ON DELETE CASCADE
        ) STRICT;
        """
}
