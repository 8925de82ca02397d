extension Migration {
    /// Cheaper CHECKs on `job`: `state IN (3, 4, 5)` built a temporary b-tree in every statement, a third of its cost.
    static let m002 = Migration(version: 2, steps: [.sql(dropViews), .rebuild(job), .sql(views)])

    /// A table cannot be renamed while a view refers to its old name.
    private static let dropViews: StaticString = """
        DROP VIEW jobs;
        DROP VIEW results;
        DROP VIEW attempts;
        DROP VIEW queues;
        DROP VIEW graphs;
        DROP VIEW waiting;
        DROP VIEW definitions;
        DROP VIEW schedules;
        """

    private static let job = TableRebuild(
        table: "job",
        create: """
            DROP INDEX job_ready;
            DROP INDEX job_due;
            DROP INDEX job_open;
            DROP INDEX job_unsuccessful;
            DROP INDEX job_graph;

            -- Small, since every transition writes the whole row; inputs and results are in tables of their own.
            CREATE TABLE new_job (
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
                started_ms    INTEGER,
                finished_ms   INTEGER,
                cancel_ms     INTEGER,
                repeats_id    INTEGER,
                CONSTRAINT job_state CHECK (state BETWEEN 0 AND 7),
                CONSTRAINT job_priority CHECK (priority BETWEEN -2 AND 2),
                CONSTRAINT job_started_with_its_first_attempt CHECK ((attempt = 0) = (started_ms IS NULL)),
                CONSTRAINT job_tries CHECK (tries BETWEEN 0 AND attempt AND rescues BETWEEN 0 AND attempt),
                CONSTRAINT job_finished_when_final CHECK ((state >= 4) = (finished_ms IS NOT NULL)),
                CONSTRAINT job_pending CHECK (
                    CASE state WHEN 0 THEN pending > 0 WHEN 6 THEN pending >= 0 WHEN 7 THEN pending >= 0 ELSE pending = 0 END
                    AND pending <= dependencies),
                CONSTRAINT job_due_when_waiting CHECK (state NOT BETWEEN 1 AND 2 OR due_ms IS NOT NULL),
                CONSTRAINT job_ran CHECK (
                    CASE WHEN state BETWEEN 3 AND 5 THEN attempt > 0 WHEN state = 7 THEN attempt = 0 ELSE 1 END)
            ) STRICT;

            -- Each ends with the job's number. Jobs that succeeded are only in the index of their graph.
            CREATE INDEX job_ready ON new_job (queue_id, priority, due_ms) WHERE state = 2;
            CREATE INDEX job_due ON new_job (due_ms) WHERE state = 1;
            CREATE INDEX job_open ON new_job (state) WHERE state < 4;
            CREATE INDEX job_unsuccessful ON new_job (state) WHERE state >= 5;
            CREATE INDEX job_graph ON new_job (graph_id) WHERE graph_id IS NOT NULL;
            """,
        copy: """
            INSERT INTO new_job (id, state, queue_id, priority, definition_id, graph_id, node, attempt, tries, rescues,
                                 dependencies, pending, enqueued_ms, due_ms, started_ms, finished_ms, cancel_ms, repeats_id)
            SELECT   id, state, queue_id, priority, definition_id, graph_id, node, attempt, tries, rescues,
                     dependencies, pending, enqueued_ms, due_ms, started_ms, finished_ms, cancel_ms, repeats_id
            FROM     job NOT INDEXED
            ORDER BY id
            """)
}
