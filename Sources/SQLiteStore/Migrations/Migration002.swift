import SQLite

extension Migration {
    /// Measures waits on a steady clock, forbids hidden characters in names, and makes the CHECKs on `job` cheaper:
    /// `state IN (3, 4, 5)` built a temporary b-tree in every statement, which was a third of its cost.
    static let m002 = Migration(
        version: 2,
        steps: [
            .swift(showHiddenText), .rebuild(queue), .rebuild(definition), .rebuild(graphDefinition),
            .rebuild(schedule), .rebuild(graph), .rebuild(job), .rebuild(idempotency), .rebuild(kind), .sql(clock),
        ])

    /// Schema 1 stored the end of every wait as wall clock time, so the new scale starts equal to that clock.
    private static let clock: SQL = """
        ALTER TABLE tally ADD COLUMN steady_ms INTEGER NOT NULL DEFAULT 0;

        -- The scale of every steady_ms: milliseconds of real time, unaffected when the wall clock is set. Its value was
        -- origin_ms at boot; the wall clock was skew_ms ahead of it when skew_ms was last written.
        CREATE TABLE clock (
            id        INTEGER PRIMARY KEY,
            boot      TEXT NOT NULL,
            origin_ms INTEGER NOT NULL,
            skew_ms   INTEGER NOT NULL,
            CONSTRAINT clock_has_one_row CHECK (id = 1)
        ) STRICT;
        INSERT INTO clock (id, boot, origin_ms, skew_ms) VALUES (1, '', 0, 0);
        """

    private static let schedule = TableRebuild(
        table: "schedule",
        create: """
            DROP INDEX schedule_next;

            -- The daemon computes next_ms, the first time after after_ms, from the schedule's calendar and time zone.
            -- steady_ms is when the schedule last fired, skipped a time, or was written or resumed.
            CREATE TABLE new_schedule (
            \(scheduleColumns)
                steady_ms     INTEGER NOT NULL,
                summary       TEXT,
                CONSTRAINT schedule_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT schedule_summary_shows CHECK (
                    \(visible("summary"))),
                CONSTRAINT schedule_revision CHECK (revision >= 1),
                CONSTRAINT schedule_next CHECK (next_ms > after_ms),
                CONSTRAINT schedule_without_next_when_paused CHECK (paused_ms IS NULL OR next_ms IS NULL),
                CONSTRAINT schedule_last CHECK (last_ms IS NULL OR last_job_id IS NOT NULL),
                CONSTRAINT schedule_last_graph CHECK (last_graph_id IS NULL OR last_job_id IS NOT NULL)
            ) STRICT, WITHOUT ROWID;

            CREATE INDEX schedule_next ON new_schedule (next_ms) WHERE next_ms IS NOT NULL;
            """,
        values: [
            "steady_ms": "max(updated_ms, coalesce(last_ms, 0), coalesce(skipped_ms, 0))",
            "summary": "iif(json_valid(body), body ->> 'summary', NULL)",
        ])

    static let job = TableRebuild(
        table: "job",
        create: """
            DROP INDEX job_ready;
            DROP INDEX job_due;
            DROP INDEX job_open;
            DROP INDEX job_unsuccessful;
            DROP INDEX job_graph;

            -- Small, since every transition writes the whole row; inputs and results have their own tables. due_ms is
            -- wall
            -- clock time. steady_ms is on the scale of table clock: the end of a wait that was requested as a duration
            -- and,
            -- once the job is ready, the time since which it has been ready.
            CREATE TABLE new_job (
            \(jobColumns)
                steady_ms     INTEGER,
                started_ms    INTEGER,
                finished_ms   INTEGER,
                cancel_ms     INTEGER,
                repeats_id    INTEGER,
                CONSTRAINT job_node_shows CHECK (
                    \(visible("node"))),
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

            -- SQLite ends every index key with the job's number. A succeeded job is only in the index of its graph.
            CREATE INDEX job_ready ON new_job (queue_id, priority, steady_ms) WHERE state = 2;
            CREATE INDEX job_due ON new_job (due_ms) WHERE state = 1 AND steady_ms IS NULL;
            CREATE INDEX job_wait ON new_job (steady_ms) WHERE state = 1 AND steady_ms IS NOT NULL;
            CREATE INDEX job_open ON new_job (state) WHERE state < 4;
            CREATE INDEX job_unsuccessful ON new_job (state) WHERE state >= 5;
            CREATE INDEX job_graph ON new_job (graph_id) WHERE graph_id IS NOT NULL;
            """,
        values: [
            // A scheduled job that has run is waiting for its next try; a running job may become ready again.
            "steady_ms": "CASE WHEN state BETWEEN 2 AND 3 OR (state = 1 AND attempt > 0) THEN due_ms END"
        ])
}
