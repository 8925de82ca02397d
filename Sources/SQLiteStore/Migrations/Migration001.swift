import SQLite

extension Migration {
    /// The first schema. States, outcomes, conditions and priorities are the raw values of the types in `Jobs`; times
    /// are milliseconds since 1970 in UTC; JSON is text.
    static let m001 = Migration(version: 1, steps: [.sql(tables), .sql(indexes), .sql(seed)])

    private static let tables: SQL = """
        CREATE TABLE meta (
            id            INTEGER PRIMARY KEY,
            next_job_id   INTEGER NOT NULL,
            next_graph_id INTEGER NOT NULL,
            CONSTRAINT meta_has_one_row CHECK (id = 1),
            CONSTRAINT meta_ids CHECK (next_job_id > 0 AND next_graph_id > 0)
        ) STRICT;

        CREATE TABLE kind (
        \(kindColumns)
            updated_ms  INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- A removed one stays for the final jobs that refer to it.
        CREATE TABLE queue (
        \(queueColumns)
            CONSTRAINT queue_name UNIQUE (name),
            CONSTRAINT queue_concurrency CHECK (concurrency BETWEEN 1 AND 10000),
            CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000)
        ) STRICT;

        -- One row for each revision; a removed or replaced one stays for the jobs that refer to it.
        CREATE TABLE definition (
        \(definitionColumns)
            CONSTRAINT definition_revision UNIQUE (name, revision),
            CONSTRAINT definition_priority CHECK (priority BETWEEN -2 AND 2),
            CONSTRAINT definition_attempts CHECK (max_attempts >= 1),
            CONSTRAINT definition_timeout CHECK (timeout_ms > 0)
        ) STRICT;

        CREATE TABLE graph_definition (
        \(graphDefinitionColumns)
            CONSTRAINT graph_definition_revision UNIQUE (name, revision)
        ) STRICT;

        -- Its next time is the first after after_ms; who computes it knows the calendar and its zones.
        CREATE TABLE schedule (
        \(scheduleColumns)
            CONSTRAINT schedule_revision CHECK (revision >= 1),
            CONSTRAINT schedule_next CHECK (next_ms > after_ms),
            CONSTRAINT schedule_without_next_when_paused CHECK (paused_ms IS NULL OR next_ms IS NULL),
            CONSTRAINT schedule_last CHECK (last_ms IS NULL OR last_job_id IS NOT NULL),
            CONSTRAINT schedule_last_graph CHECK (last_graph_id IS NULL OR last_job_id IS NOT NULL)
        ) STRICT, WITHOUT ROWID;

        -- The counts are of its jobs, by state.
        CREATE TABLE graph (
        \(graphColumns)
            CONSTRAINT graph_finished_without_open_jobs
                CHECK ((finished_ms IS NULL) = (blocked + scheduled + ready + running > 0)),
            CONSTRAINT graph_counts
                CHECK (min(blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped) >= 0)
        ) STRICT;

        -- The counts of each queue's jobs, by state, written once in each transaction.
        CREATE TABLE tally (
            queue_id  INTEGER PRIMARY KEY REFERENCES queue (id),
            blocked   INTEGER NOT NULL DEFAULT 0,
            scheduled INTEGER NOT NULL DEFAULT 0,
            ready     INTEGER NOT NULL DEFAULT 0,
            running   INTEGER NOT NULL DEFAULT 0,
            succeeded INTEGER NOT NULL DEFAULT 0,
            failed    INTEGER NOT NULL DEFAULT 0,
            cancelled INTEGER NOT NULL DEFAULT 0,
            skipped   INTEGER NOT NULL DEFAULT 0,
            CONSTRAINT tally_counts
                CHECK (min(blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped) >= 0)
        ) STRICT;

        -- Small, since every transition writes the row anew; what is large stands in job_input and result.
        CREATE TABLE job (
        \(jobColumns)
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
            CONSTRAINT job_due_when_waiting CHECK (state NOT IN (1, 2) OR due_ms IS NOT NULL),
            CONSTRAINT job_ran CHECK (CASE WHEN state IN (3, 4, 5) THEN attempt > 0 WHEN state = 7 THEN attempt = 0 ELSE 1 END)
        ) STRICT;

        CREATE TABLE job_input (
            job_id INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
            input  TEXT NOT NULL,
            CONSTRAINT job_input_size CHECK (length(CAST(input AS BLOB)) <= 1048576)
        ) STRICT;

        CREATE TABLE dependency (
            job_id    INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
            position  INTEGER NOT NULL,
            parent_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
            condition INTEGER NOT NULL,
            PRIMARY KEY (job_id, position),
            CONSTRAINT dependency_position CHECK (position >= 0),
            CONSTRAINT dependency_condition CHECK (condition IN (0, 1)),
            CONSTRAINT dependency_on_another CHECK (parent_id <> job_id)
        ) STRICT, WITHOUT ROWID;

        -- An attempt that ended, with the requests it sent.
        CREATE TABLE attempt (
            job_id      INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
            number      INTEGER NOT NULL,
            outcome     INTEGER NOT NULL,
            started_ms  INTEGER NOT NULL,
            ended_ms    INTEGER NOT NULL,
            code        TEXT,
            message     TEXT,
            detail      TEXT,
            retry_ms    INTEGER,
            connections TEXT,
            PRIMARY KEY (job_id, number),
            CONSTRAINT attempt_number CHECK (number >= 1),
            CONSTRAINT attempt_outcome CHECK (outcome BETWEEN 0 AND 5),
            CONSTRAINT attempt_failure CHECK ((outcome = 0) = (code IS NULL) AND (code IS NULL) = (message IS NULL)),
            CONSTRAINT attempt_detail CHECK (detail IS NULL OR code IS NOT NULL),
            -- Not by json_valid(): SQLite 3.40 does not trust it in a schema.
            CONSTRAINT attempt_connections CHECK (connections GLOB '[[]*]')
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE result (
            job_id      INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
            attempt     INTEGER NOT NULL,
            outcome     INTEGER NOT NULL,
            finished_ms INTEGER NOT NULL,
            value       TEXT,
            code        TEXT,
            message     TEXT,
            detail      TEXT,
            CONSTRAINT result_attempt CHECK (attempt >= 0),
            CONSTRAINT result_outcome CHECK (outcome BETWEEN 4 AND 7),
            CONSTRAINT result_value_when_succeeded CHECK ((outcome = 4) = (value IS NOT NULL)),
            CONSTRAINT result_failure_otherwise CHECK ((outcome = 4) = (code IS NULL) AND (code IS NULL) = (message IS NULL)),
            CONSTRAINT result_detail CHECK (detail IS NULL OR code IS NOT NULL),
            CONSTRAINT result_size CHECK (length(CAST(value AS BLOB)) <= 1048576)
        ) STRICT;

        -- A key stands for the jobs from first_job_id on, as many as it says, until the last of them is pruned.
        CREATE TABLE idempotency (
            key          TEXT PRIMARY KEY,
            fingerprint  INTEGER NOT NULL,
            graph_id     INTEGER,
            first_job_id INTEGER NOT NULL,
            jobs         INTEGER NOT NULL,
            CONSTRAINT idempotency_first_job UNIQUE (first_job_id),
            CONSTRAINT idempotency_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 255),
            CONSTRAINT idempotency_jobs CHECK (jobs >= 1)
        ) STRICT, WITHOUT ROWID;
        """

    private static let indexes: SQL = """
        CREATE UNIQUE INDEX definition_current ON definition (name) WHERE replaced_ms IS NULL;
        CREATE UNIQUE INDEX graph_definition_current ON graph_definition (name) WHERE replaced_ms IS NULL;
        CREATE INDEX schedule_next ON schedule (next_ms) WHERE next_ms IS NOT NULL;
        -- Each ends with the job's number. Jobs that succeeded are in none but their graph's.
        CREATE INDEX job_ready ON job (queue_id, priority, due_ms) WHERE state = 2;
        CREATE INDEX job_due ON job (due_ms) WHERE state = 1;
        CREATE INDEX job_open ON job (state) WHERE state < 4;
        CREATE INDEX job_unsuccessful ON job (state) WHERE state >= 5;
        CREATE INDEX job_graph ON job (graph_id) WHERE graph_id IS NOT NULL;
        CREATE INDEX dependency_parent ON dependency (parent_id, condition);
        """

    private static let seed: SQL = """
        INSERT INTO meta (id, next_job_id, next_graph_id) VALUES (1, 1, 1);
        INSERT INTO queue (id, name, concurrency, weight) VALUES (1, 'default', 16, 1);
        INSERT INTO tally (queue_id) VALUES (1);
        """
}
