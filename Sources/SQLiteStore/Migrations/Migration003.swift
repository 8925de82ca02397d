import SQLite

extension Migration {
    /// Tables for work that takes several transactions. They record what is unfinished, so that the next start can
    /// resume it.
    static let m003 = Migration(version: 3, steps: [.sql(longWork)])

    private static let longWork: SQL = """
        -- The parts of a large graph, until its jobs are written. A graph without a row in table graph was never
        -- accepted.
        CREATE TABLE staged_part (
            graph_id     INTEGER NOT NULL,
            number       INTEGER NOT NULL,
            first_job_id INTEGER NOT NULL,
            body         BLOB NOT NULL,
            PRIMARY KEY (graph_id, number),
            CONSTRAINT staged_part_numbers CHECK (number >= 0 AND first_job_id > 0)
        ) STRICT;

        -- A final job with dependents that are not released or skipped yet, and the last edge that was settled.
        CREATE TABLE settling (
            job_id         INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
            outcome        INTEGER NOT NULL,
            at_ms          INTEGER NOT NULL,
            last_condition INTEGER NOT NULL,
            last_job_id    INTEGER NOT NULL,
            last_position  INTEGER NOT NULL,
            CONSTRAINT settling_outcome CHECK (outcome BETWEEN 4 AND 7)
        ) STRICT;

        -- A graph whose open jobs are being cancelled; the jobs from below_id upwards already are.
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
