PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta (
    id            INTEGER PRIMARY KEY,
    next_job_id   INTEGER NOT NULL,
    next_graph_id INTEGER NOT NULL, settings_version INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT meta_has_one_row CHECK (id = 1),
    CONSTRAINT meta_ids CHECK (next_job_id > 0 AND next_graph_id > 0)
) STRICT;
INSERT INTO meta VALUES(1,1,1,14);
CREATE TABLE tally (
    queue_id  INTEGER PRIMARY KEY REFERENCES queue (id),
    blocked   INTEGER NOT NULL DEFAULT 0,
    scheduled INTEGER NOT NULL DEFAULT 0,
    ready     INTEGER NOT NULL DEFAULT 0,
    running   INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    skipped   INTEGER NOT NULL DEFAULT 0, steady_ms INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT tally_counts
        CHECK (min(blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped) >= 0)
) STRICT;
INSERT INTO tally VALUES(1,1,1,1,1,1,1,0,1,1750000000123);
INSERT INTO tally VALUES(2,0,0,1,1,0,0,0,0,1750000000123);
INSERT INTO tally VALUES(3,0,0,1,0,0,0,0,0,1750000000123);
CREATE TABLE job_input (
    job_id INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    input  TEXT NOT NULL,
    CONSTRAINT job_input_size CHECK (length(CAST(input AS BLOB)) <= 1048576)
) STRICT;
INSERT INTO job_input VALUES(1,'{"url":"https://example.org/"}');
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
    connections TEXT, usage TEXT,
    PRIMARY KEY (job_id, number),
    CONSTRAINT attempt_number CHECK (number >= 1),
    CONSTRAINT attempt_outcome CHECK (outcome BETWEEN 0 AND 5),
    CONSTRAINT attempt_failure CHECK ((outcome = 0) = (code IS NULL) AND (code IS NULL) = (message IS NULL)),
    CONSTRAINT attempt_detail CHECK (detail IS NULL OR code IS NOT NULL),
    -- Not by json_valid(): SQLite 3.40 does not trust it in a schema.
    CONSTRAINT attempt_connections CHECK (connections GLOB '[[]*]')
) STRICT, WITHOUT ROWID;
INSERT INTO attempt VALUES(1,1,0,1750000001123,1750000002623,NULL,NULL,NULL,NULL,'[{"number":1,"method":"GET","origin":"https://example.org","address":"192.0.2.1:443","started_at":"2025-06-15T15:06:42.623Z","sent_bytes":0,"received_bytes":0,"status":302},{"number":2,"method":"GET","origin":"http://h:8080","address":"192.0.2.1:443","started_at":"2025-06-15T15:06:42.623Z","sent_bytes":0,"received_bytes":0,"status":200}]',NULL);
INSERT INTO attempt VALUES(2,1,1,1750000001123,1750000002623,'http_status','The server said 503.','{"status":503}',NULL,NULL,NULL);
INSERT INTO attempt VALUES(4,1,2,1750000001123,1750000002623,'http_status','The server said 503.','{"status":503}',1750000062623,NULL,NULL);
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
INSERT INTO result VALUES(1,1,4,1750000002623,'{"bytes":12}',NULL,NULL,NULL);
INSERT INTO result VALUES(2,1,5,1750000002623,NULL,'http_status','The server said 503.','{"status":503}');
INSERT INTO result VALUES(3,0,7,1750000002623,NULL,'dependency_failed','Its dependency, job 2 (bad), failed. See why with "halyard show 2"; retry the jobs with "halyard retry --dependents 2".','{"job":2,"name":"bad","outcome":"failed"}');
CREATE TABLE IF NOT EXISTS "graph_definition" (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    body        TEXT NOT NULL,
    updated_ms  INTEGER NOT NULL,
    replaced_ms INTEGER,
    problem     TEXT,
    summary     TEXT,
    CONSTRAINT graph_definition_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT graph_definition_summary_shows CHECK (
        instr(summary, char(0)) = 0 AND (summary NOT GLOB '*[^ -~]*' OR summary NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT graph_definition_revision UNIQUE (name, revision)
) STRICT;
INSERT INTO graph_definition VALUES(1,'pair',1,'{"name":"pair","summary":"Two fetches.","nodes":[{"name":"one","definition":"fetch"}]}',1750000000123,NULL,'node one has no url','Two fetches.');
CREATE TABLE IF NOT EXISTS "schedule" (
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
    steady_ms     INTEGER NOT NULL,
    summary       TEXT,
    CONSTRAINT schedule_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT schedule_summary_shows CHECK (
        instr(summary, char(0)) = 0 AND (summary NOT GLOB '*[^ -~]*' OR summary NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT schedule_revision CHECK (revision >= 1),
    CONSTRAINT schedule_next CHECK (next_ms > after_ms),
    CONSTRAINT schedule_without_next_when_paused CHECK (paused_ms IS NULL OR next_ms IS NULL),
    CONSTRAINT schedule_last CHECK (last_ms IS NULL OR last_job_id IS NOT NULL),
    CONSTRAINT schedule_last_graph CHECK (last_graph_id IS NULL OR last_job_id IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO schedule VALUES('nightly',1,'{"name":"nightly","summary":"Fetches at night.","calendar":["Mon..Fri *-*-* 03:00:00 Europe/Berlin","*-*-01 00:00:00"],"definition":"pair","input":{"one.url":"x"},"persistent":true,"overlap":"skip"}',1750000000123,1750000012623,1750000022623,NULL,NULL,NULL,NULL,NULL,'There is no url.',1750000000123,'Fetches at night.');
INSERT INTO schedule VALUES('often',2,'{"name":"often","calendar":["*-*-* *:*:00"],"definition":"fetch","persistent":false,"overlap":"allow"}',1750000000123,1750000000123,NULL,1750000002623,NULL,NULL,NULL,NULL,NULL,1750000000123,NULL);
INSERT INTO schedule VALUES('past',1,'{"name":"past","calendar":["2020-01-01 00:00:00"],"definition":"fetch","persistent":false,"overlap":"skip"}',1750000000123,1750000000123,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1750000000123,NULL);
CREATE TABLE IF NOT EXISTS "graph" (
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
    CONSTRAINT graph_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT graph_finished_without_open_jobs
        CHECK ((finished_ms IS NULL) = (blocked + scheduled + ready + running > 0)),
    CONSTRAINT graph_counts
        CHECK (min(blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped) >= 0)
) STRICT;
INSERT INTO graph VALUES(1,'pair',1750000000123,NULL,1,1,0,1,1,1,0,1);
CREATE TABLE IF NOT EXISTS "job" (
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
    steady_ms     INTEGER,
    started_ms    INTEGER,
    finished_ms   INTEGER,
    cancel_ms     INTEGER,
    repeats_id    INTEGER, holder_id INTEGER,
    CONSTRAINT job_node_shows CHECK (
        instr(node, char(0)) = 0 AND (node NOT GLOB '*[^ -~]*' OR node NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT job_state CHECK (state BETWEEN 0 AND 7),
    CONSTRAINT job_priority CHECK (priority BETWEEN -2 AND 2),
    CONSTRAINT job_started_with_its_first_attempt CHECK ((attempt = 0) = (started_ms IS NULL)),
    CONSTRAINT job_tries CHECK (tries BETWEEN 0 AND attempt AND rescues BETWEEN 0 AND attempt),
    CONSTRAINT job_finished_when_final CHECK ((state >= 4) = (finished_ms IS NOT NULL)),
    CONSTRAINT job_pending CHECK (
        CASE state WHEN 0 THEN pending > 0 WHEN 6 THEN pending >= 0 WHEN 7 THEN pending >= 0 ELSE pending = 0 END
        AND pending <= dependencies),
    CONSTRAINT job_due_when_waiting CHECK (state NOT BETWEEN 1 AND 2 OR due_ms IS NOT NULL),
    CONSTRAINT job_steady_when_ready CHECK (state <> 2 OR steady_ms IS NOT NULL),
    CONSTRAINT job_ran CHECK (
        CASE WHEN state BETWEEN 3 AND 5 THEN attempt > 0 WHEN state = 7 THEN attempt = 0 ELSE 1 END)
) STRICT;
INSERT INTO job VALUES(1,4,1,0,1,1,'good',1,1,0,0,0,1750000000123,1750000000123,1750000000123,1750000001123,1750000002623,NULL,NULL,1);
INSERT INTO job VALUES(2,5,1,0,1,1,'bad',1,1,0,0,0,1750000000123,1750000000123,1750000000123,1750000001123,1750000002623,NULL,NULL,1);
INSERT INTO job VALUES(3,7,1,0,1,1,'after-bad',0,0,0,1,1,1750000000123,NULL,NULL,NULL,1750000002623,NULL,NULL,NULL);
INSERT INTO job VALUES(4,1,1,0,1,1,'again',1,1,0,0,0,1750000000123,1750000062623,1750000060123,1750000001123,NULL,NULL,NULL,1);
INSERT INTO job VALUES(5,3,1,0,1,1,'slow',1,0,0,0,0,1750000000123,1750000000123,1750000000123,1750000001123,NULL,1750000002623,NULL,1);
INSERT INTO job VALUES(6,0,1,0,1,1,'last',0,0,0,2,2,1750000000123,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(7,3,2,0,1,NULL,NULL,1,0,0,0,0,1750000002623,1750000002623,1750000000123,1750000002623,NULL,NULL,NULL,1);
INSERT INTO job VALUES(8,2,2,0,1,NULL,NULL,0,0,0,0,0,1750000002623,1750000002623,1750000000123,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(9,2,3,0,1,NULL,NULL,0,0,0,0,0,1750000002623,1750000002623,1750000000123,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(10,2,1,0,1,NULL,NULL,0,0,0,0,0,1750000002623,1750000002623,1750000000123,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "idempotency" (
    key          TEXT PRIMARY KEY,
    fingerprint  INTEGER NOT NULL,
    graph_id     INTEGER,
    first_job_id INTEGER NOT NULL,
    jobs         INTEGER NOT NULL,
    CONSTRAINT idempotency_key_shows CHECK (
        instr(key, char(0)) = 0 AND (key NOT GLOB '*[^ -~]*' OR key NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT idempotency_first_job UNIQUE (first_job_id),
    CONSTRAINT idempotency_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_jobs CHECK (jobs >= 1)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "kind" (
    name        TEXT PRIMARY KEY,
    summary     TEXT NOT NULL,
    input_type  TEXT NOT NULL,
    output_type TEXT NOT NULL,
    accepts     TEXT,
    offers      TEXT NOT NULL,
    fields      TEXT NOT NULL,
    updated_ms  INTEGER NOT NULL,
    CONSTRAINT kind_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT kind_summary_shows CHECK (
        instr(summary, char(0)) = 0 AND (summary NOT GLOB '*[^ -~]*' OR summary NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*'))
) STRICT, WITHOUT ROWID;
CREATE TABLE clock (
    id        INTEGER PRIMARY KEY,
    boot      TEXT NOT NULL,
    origin_ms INTEGER NOT NULL,
    skew_ms   INTEGER NOT NULL,
    CONSTRAINT clock_has_one_row CHECK (id = 1)
) STRICT;
INSERT INTO clock VALUES(1,'the only one',1749999000123,2500);
CREATE TABLE staged_part (
    graph_id     INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    first_job_id INTEGER NOT NULL,
    body         BLOB NOT NULL,
    PRIMARY KEY (graph_id, number),
    CONSTRAINT staged_part_numbers CHECK (number >= 0 AND first_job_id > 0)
) STRICT;
CREATE TABLE settling (
    job_id         INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    outcome        INTEGER NOT NULL,
    at_ms          INTEGER NOT NULL,
    last_condition INTEGER NOT NULL,
    last_job_id    INTEGER NOT NULL,
    last_position  INTEGER NOT NULL,
    CONSTRAINT settling_outcome CHECK (outcome BETWEEN 4 AND 7)
) STRICT;
CREATE TABLE cancelling (
    graph_id INTEGER PRIMARY KEY REFERENCES graph (id) ON DELETE CASCADE,
    requested_ms INTEGER NOT NULL,
    below_id INTEGER NOT NULL
) STRICT;
CREATE TABLE pruning (
    graph_id INTEGER PRIMARY KEY REFERENCES graph (id) ON DELETE CASCADE
) STRICT;
CREATE TABLE IF NOT EXISTS "queue" (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    "limit"    INTEGER NOT NULL,
    weight     INTEGER NOT NULL,
    paused_ms  INTEGER,
    removed_ms INTEGER, limit_per_daemon INTEGER
    CONSTRAINT queue_limit_per_daemon CHECK (limit_per_daemon BETWEEN 1 AND 10000),
    CONSTRAINT queue_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT queue_name UNIQUE (name),
    CONSTRAINT queue_limit CHECK ("limit" BETWEEN 1 AND 10000),
    CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000)
) STRICT;
INSERT INTO queue VALUES(1,'default',16,1,NULL,NULL,NULL);
INSERT INTO queue VALUES(2,'net',1,1,NULL,NULL,NULL);
INSERT INTO queue VALUES(3,'mail',16,1,1750000002623,NULL,4);
CREATE TABLE IF NOT EXISTS "definition" (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    summary     TEXT,
    queue       TEXT NOT NULL,
    priority    INTEGER NOT NULL,
    retry       TEXT NOT NULL,
    max_tries   INTEGER NOT NULL,
    timeout_ms  INTEGER,
    input       TEXT NOT NULL,
    updated_ms  INTEGER NOT NULL,
    replaced_ms INTEGER,
    problem     TEXT, program TEXT,
    CONSTRAINT definition_name_shows CHECK (
        instr(name, char(0)) = 0 AND (name NOT GLOB '*[^ -~]*' OR name NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT definition_summary_shows CHECK (
        instr(summary, char(0)) = 0 AND (summary NOT GLOB '*[^ -~]*' OR summary NOT GLOB '*[' || char(
            1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
            45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
            65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')),
    CONSTRAINT definition_revision UNIQUE (name, revision),
    CONSTRAINT definition_priority CHECK (priority BETWEEN -2 AND 2),
    CONSTRAINT definition_tries CHECK (max_tries >= 1),
    CONSTRAINT definition_timeout CHECK (timeout_ms > 0)
) STRICT;
INSERT INTO definition VALUES(1,'fetch',1,'http','Fetches a page.','net',1,'{"tries":3,"delay":"constant","initial":"2s","jitter":"none","on":"retryable"}',3,90000,'{"method":"GET"}',1750000000123,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "dependency" (
    dependent_id  INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    dependency_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    condition     INTEGER NOT NULL,
    PRIMARY KEY (dependent_id, position),
    CONSTRAINT dependency_position CHECK (position >= 0),
    CONSTRAINT dependency_condition CHECK (condition IN (0, 1)),
    CONSTRAINT dependency_on_another CHECK (dependency_id <> dependent_id)
) STRICT, WITHOUT ROWID;
INSERT INTO dependency VALUES(3,0,2,0);
INSERT INTO dependency VALUES(6,1,4,0);
INSERT INTO dependency VALUES(6,0,5,1);
CREATE TABLE daemon (
    id         INTEGER PRIMARY KEY,
    identity   TEXT NOT NULL,
    name       TEXT NOT NULL,
    host       TEXT NOT NULL,
    version    TEXT NOT NULL,
    queues     TEXT,
    started_ms INTEGER NOT NULL,
    left_ms    INTEGER
, kinds TEXT) STRICT;
INSERT INTO daemon VALUES(1,'tool','localhost','localhost','0',NULL,1750000000123,NULL,NULL);
CREATE TABLE checkpoint (
    job_id   INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    attempt  INTEGER NOT NULL,
    saved_ms INTEGER NOT NULL,
    value    TEXT NOT NULL,
    CONSTRAINT checkpoint_attempt CHECK (attempt >= 1),
    CONSTRAINT checkpoint_size CHECK (length(CAST(value AS BLOB)) <= 65536)
) STRICT;
INSERT INTO checkpoint VALUES(4,1,1750000002123,'{"offset":4096}');
CREATE UNIQUE INDEX graph_definition_current ON "graph_definition" (name) WHERE replaced_ms IS NULL;
CREATE INDEX schedule_next ON "schedule" (next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX job_ready ON "job" (queue_id, priority, steady_ms) WHERE state = 2;
CREATE INDEX job_due ON "job" (due_ms) WHERE state = 1 AND steady_ms IS NULL;
CREATE INDEX job_wait ON "job" (steady_ms) WHERE state = 1 AND steady_ms IS NOT NULL;
CREATE INDEX job_open ON "job" (state) WHERE state < 4;
CREATE INDEX job_unsuccessful ON "job" (state) WHERE state >= 5;
CREATE INDEX job_graph ON "job" (graph_id) WHERE graph_id IS NOT NULL;
CREATE UNIQUE INDEX definition_current ON "definition" (name) WHERE replaced_ms IS NULL;
CREATE INDEX dependency_dependents ON "dependency" (dependency_id, condition);
CREATE VIEW jobs AS
SELECT      job.id                                     AS job,
            job.graph_id                               AS "graph",
            job.node                                   AS node,
            definition.name                            AS definition,
            definition.kind                            AS kind,
            queue.name                                 AS queue,
            CASE job.priority WHEN -2 THEN 'very_low' WHEN -1 THEN 'low' WHEN 0 THEN 'normal' WHEN 1 THEN 'high' WHEN 2 THEN 'very_high' END AS priority,
            CASE job.state WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running' WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped' END AS state,
            job.attempt                                AS attempt,
            job.tries || ' of ' || definition.max_tries AS tries,
            strftime('%Y-%m-%dT%H:%M:%fZ', job.enqueued_ms / 1000.0, 'unixepoch') AS enqueued,
            strftime('%Y-%m-%dT%H:%M:%fZ', iif(job.state < 2 AND job.steady_ms IS NOT NULL,
                job.steady_ms + (SELECT skew_ms FROM clock), job.due_ms) / 1000.0, 'unixepoch') AS due,
            strftime('%Y-%m-%dT%H:%M:%fZ', job.started_ms / 1000.0, 'unixepoch') AS started,
            strftime('%Y-%m-%dT%H:%M:%fZ', job.finished_ms / 1000.0, 'unixepoch') AS finished,
            (job.finished_ms - job.started_ms) / 1000.0 AS seconds,
            strftime('%Y-%m-%dT%H:%M:%fZ', job.cancel_ms / 1000.0, 'unixepoch') AS cancel_requested,
            job.repeats_id                             AS repeats,
            job_input.input                            AS input,
            result.value                               AS value,
            iif(result.code IS NULL, NULL,
                json_object('code', result.code, 'message', result.message, 'detail', json(result.detail))) AS error
FROM        job
JOIN        definition ON definition.id = job.definition_id
JOIN        queue ON queue.id = job.queue_id
LEFT JOIN   job_input ON job_input.job_id = job.id
LEFT JOIN   result ON result.job_id = job.id;
CREATE VIEW results AS
SELECT      result.job_id                              AS job,
            job.graph_id                               AS "graph",
            job.node                                   AS node,
            definition.name                            AS definition,
            definition.kind                            AS kind,
            CASE result.outcome WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running' WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped' END AS outcome,
            result.attempt                             AS attempt,
            strftime('%Y-%m-%dT%H:%M:%fZ', result.finished_ms / 1000.0, 'unixepoch') AS finished,
            result.value                               AS value,
            iif(result.code IS NULL, NULL,
                json_object('code', result.code, 'message', result.message, 'detail', json(result.detail))) AS error
FROM        result
JOIN        job ON job.id = result.job_id
JOIN        definition ON definition.id = job.definition_id;
CREATE VIEW attempts AS
SELECT      attempt.job_id                             AS job,
            attempt.number                             AS attempt,
            definition.name                            AS definition,
            CASE attempt.outcome WHEN 0 THEN 'succeeded' WHEN 1 THEN 'failed' WHEN 2 THEN 'timed_out' WHEN 3 THEN 'cancelled' WHEN 4 THEN 'interrupted' WHEN 5 THEN 'crashed' END AS outcome,
            strftime('%Y-%m-%dT%H:%M:%fZ', attempt.started_ms / 1000.0, 'unixepoch') AS started,
            strftime('%Y-%m-%dT%H:%M:%fZ', attempt.ended_ms / 1000.0, 'unixepoch') AS ended,
            (attempt.ended_ms - attempt.started_ms) / 1000.0 AS seconds,
            iif(attempt.code IS NULL, NULL,
                json_object('code', attempt.code, 'message', attempt.message, 'detail', json(attempt.detail))) AS error,
            strftime('%Y-%m-%dT%H:%M:%fZ', attempt.retry_ms / 1000.0, 'unixepoch') AS retry,
            attempt.connections                        AS connections,
            attempt.usage                              AS usage
FROM        attempt
JOIN        job ON job.id = attempt.job_id
JOIN        definition ON definition.id = job.definition_id
UNION ALL
SELECT      job.id, job.attempt, definition.name, 'running', strftime('%Y-%m-%dT%H:%M:%fZ', job.started_ms / 1000.0, 'unixepoch'),
            NULL, NULL, NULL, NULL, NULL, NULL
FROM        job
JOIN        definition ON definition.id = job.definition_id
WHERE       job.state < 4
AND         job.state = 3;
CREATE VIEW queues AS
SELECT      queue.name                                 AS queue,
            queue."limit"                              AS "limit",
            queue.limit_per_daemon                     AS limit_per_daemon,
            queue.weight                               AS weight,
            strftime('%Y-%m-%dT%H:%M:%fZ', queue.paused_ms / 1000.0, 'unixepoch') AS paused,
            tally.running, tally.ready, tally.scheduled, tally.blocked,
            tally.succeeded, tally.failed, tally.cancelled, tally.skipped
FROM        queue
JOIN        tally ON tally.queue_id = queue.id
WHERE       queue.removed_ms IS NULL;
CREATE VIEW graphs AS
SELECT      "graph".id                                 AS "graph",
            "graph".name                               AS name,
            CASE
                WHEN "graph".finished_ms IS NULL THEN 'open'
                WHEN "graph".failed > 0 THEN 'failed'
                WHEN "graph".cancelled > 0 THEN 'cancelled'
                WHEN "graph".skipped > 0 THEN 'skipped'
                ELSE 'succeeded'
            END AS state,
            strftime('%Y-%m-%dT%H:%M:%fZ', "graph".enqueued_ms / 1000.0, 'unixepoch') AS enqueued,
            strftime('%Y-%m-%dT%H:%M:%fZ', "graph".finished_ms / 1000.0, 'unixepoch') AS finished,
            ("graph".finished_ms - "graph".enqueued_ms) / 1000.0 AS seconds,
            "graph".running, "graph".ready, "graph".scheduled, "graph".blocked,
            "graph".succeeded, "graph".failed, "graph".cancelled, "graph".skipped
FROM        "graph";
CREATE VIEW waiting AS
SELECT      job.id                                     AS job,
            job.graph_id                               AS "graph",
            job.node                                   AS node,
            definition.name                            AS definition,
            queue.name                                 AS queue,
            'blocked'                                  AS state,
            'waits for ' || (
                SELECT group_concat(line, '; ')
                FROM   (
                    SELECT   'job ' || other.id || ' (' || coalesce(other.node, origin.name) || ') to '
                                 || iif(edge.condition = 0, 'succeed', 'finish')
                                 || ', which is ' || CASE other.state WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running' WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped' END AS line
                    FROM     dependency AS edge
                    JOIN     job AS other ON other.id = edge.dependency_id
                    JOIN     definition AS origin ON origin.id = other.definition_id
                    WHERE    edge.dependent_id = job.id
                    AND      other.state < 4
                    ORDER BY edge.position
                    LIMIT    3))
                || iif(job.pending > 3, '; and ' || (job.pending - 3) || ' more', '') AS reason
FROM        job
JOIN        definition ON definition.id = job.definition_id
JOIN        queue ON queue.id = job.queue_id
WHERE       job.state < 4
AND         job.state = 0
UNION ALL
SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'scheduled',
            'is due at ' || strftime('%Y-%m-%dT%H:%M:%fZ', iif(job.state < 2 AND job.steady_ms IS NOT NULL,
                job.steady_ms + (SELECT skew_ms FROM clock), job.due_ms) / 1000.0, 'unixepoch')
                || iif(job.tries > 0, ', for try ' || (job.tries + 1) || ' of ' || definition.max_tries, '')
FROM        job
JOIN        definition ON definition.id = job.definition_id
JOIN        queue ON queue.id = job.queue_id
WHERE       job.state < 4
AND         job.state = 1
UNION ALL
SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'ready',
            CASE
                WHEN queue.paused_ms IS NOT NULL
                THEN 'queue ' || queue.name || ' is paused since ' || strftime('%Y-%m-%dT%H:%M:%fZ', queue.paused_ms / 1000.0, 'unixepoch')
                WHEN EXISTS (SELECT 1 FROM daemon WHERE left_ms IS NULL AND queues IS NOT NULL
                             AND queue.name NOT IN (SELECT value FROM json_each(queues)))
                THEN 'no running daemon serves queue ' || queue.name
                WHEN EXISTS (SELECT 1 FROM daemon WHERE left_ms IS NULL AND kinds IS NOT NULL
                             AND definition.kind NOT IN (SELECT value FROM json_each(kinds)))
                THEN 'no running daemon serves kind ' || definition.kind
                WHEN tally.running >= queue."limit"
                THEN 'queue ' || queue.name || ' is at its limit of ' || queue."limit"
                WHEN tally.running >= queue.limit_per_daemon
                THEN 'queue ' || queue.name || ' is at its limit of ' || queue.limit_per_daemon
                    || ' per daemon'
                ELSE 'waits for its turn in queue ' || queue.name
            END
FROM        job
JOIN        definition ON definition.id = job.definition_id
JOIN        queue ON queue.id = job.queue_id
JOIN        tally ON tally.queue_id = job.queue_id
WHERE       job.state = 2;
CREATE VIEW definitions AS
SELECT      definition.name                            AS name,
            'definition'                               AS type,
            definition.revision                        AS revision,
            definition.kind                            AS kind,
            definition.queue                           AS queue,
            CASE definition.priority WHEN -2 THEN 'very_low' WHEN -1 THEN 'low' WHEN 0 THEN 'normal' WHEN 1 THEN 'high' WHEN 2 THEN 'very_high' END AS priority,
            definition.retry                           AS retry,
            definition.timeout_ms / 1000.0             AS timeout_seconds,
            definition.input                           AS input,
            strftime('%Y-%m-%dT%H:%M:%fZ', definition.updated_ms / 1000.0, 'unixepoch') AS updated,
            definition.summary                         AS summary,
            definition.problem                         AS problem,
            NULL                                       AS body,
            definition.program                         AS program
FROM        definition
WHERE       definition.replaced_ms IS NULL
UNION ALL
SELECT      graph_definition.name, 'graph', graph_definition.revision, NULL, NULL, NULL, NULL, NULL, NULL,
            strftime('%Y-%m-%dT%H:%M:%fZ', graph_definition.updated_ms / 1000.0, 'unixepoch'), graph_definition.summary, graph_definition.problem,
            graph_definition.body, NULL
FROM        graph_definition
WHERE       graph_definition.replaced_ms IS NULL;
CREATE VIEW schedules AS
SELECT      schedule.name                              AS schedule,
            CASE
                WHEN schedule.paused_ms IS NOT NULL THEN 'paused'
                WHEN schedule.next_ms IS NULL THEN 'never'
                ELSE 'active'
            END AS state,
            json_extract(schedule.body, '$.definition') AS definition,
            (SELECT group_concat(value, '; ') FROM json_each(schedule.body, '$.calendar')) AS calendar,
            strftime('%Y-%m-%dT%H:%M:%fZ', schedule.next_ms / 1000.0, 'unixepoch') AS next,
            strftime('%Y-%m-%dT%H:%M:%fZ', schedule.last_ms / 1000.0, 'unixepoch') AS last,
            schedule.last_job_id                       AS last_job,
            schedule.last_graph_id                     AS last_graph,
            strftime('%Y-%m-%dT%H:%M:%fZ', schedule.skipped_ms / 1000.0, 'unixepoch') AS skipped,
            strftime('%Y-%m-%dT%H:%M:%fZ', schedule.paused_ms / 1000.0, 'unixepoch') AS paused,
            iif(json_extract(schedule.body, '$.persistent'), 'yes', 'no') AS persistent,
            json_extract(schedule.body, '$.overlap')   AS overlap,
            json_extract(schedule.body, '$.input')     AS input,
            schedule.summary                           AS summary,
            schedule.problem                           AS problem
FROM        schedule;
COMMIT;
PRAGMA application_id = 1212238937;
PRAGMA user_version = 8;
