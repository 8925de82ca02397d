extension Migration {
    /// The first schema. States, outcomes, conditions and priorities are the raw values of the types in `Jobs`; times
    /// are milliseconds since 1970 in UTC; JSON is text, exactly as it was accepted.
    ///
    /// Rows of the hot tables are only inserted and deleted, and no index is read from its beginning each time, so that the
    /// rows that a long transaction keeps from being removed cost nothing:
    ///
    /// - S1: A job has one row in `job`, which never changes, and one row in exactly one of `blocked`, `scheduled`,
    ///   `ready`, `running` and `done`, which is its state. Each change of the state is a delete and an insert.
    /// - S2: `ready.txid` is the transaction that made the job ready. All transactions before a snapshot's `xmin` have
    ///   ended, so a lane's rows before that are complete, and its first row then is a certain beginning
    ///   (`Floors`). Rows that return to an earlier place (`LaneClass/returned`, `suspect`) have `txid` 0.
    /// - S3: Counts are inserted as differences (`tally_change`) and folded when their transactions have ended
    ///   (`tally_fold`).
    /// - S4: Each table whose rows come and go has two halves (``HotTable``). New rows go into the current half; the other
    ///   one is emptied by TRUNCATE, so that deleted rows do not add up while a snapshot is held.
    /// - S5: History is partitioned by the numbers of jobs (``historyTables``). A statement names the lowest and the highest
    ///   number that it looks for, so that it reads only the partitions that may contain rows.
    /// - S6: No index contains, in a later place, the column by which another index of the same table finds rows: it
    ///   contains an expression instead (`job + 0`). PostgreSQL plans for the size that it last saw. Having seen a table
    ///   almost empty, it would read such an index from beginning to end for each job.
    static let m001 = Migration(version: 1, sql: [settings, jobs, halves, open, done, ranges, counts, plans, seed])

    private static let settings = """
        CREATE TABLE halyard.settings (
            id       bigint PRIMARY KEY CHECK (id = 1),
            version  bigint NOT NULL,
            -- Tells the homes of daemons which database their files belong to. A dump keeps it.
            identity uuid NOT NULL DEFAULT gen_random_uuid()
        );

        -- One row for each life of a daemon.
        CREATE TABLE halyard.daemon (
            id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            identity    text NOT NULL,
            name        text NOT NULL,
            host        text NOT NULL,
            version     text NOT NULL,
            queues      text[],
            kinds       text[],
            started_ms  bigint NOT NULL,
            seen_ms     bigint NOT NULL,
            alive_until_ms bigint NOT NULL,
            ended_ms    bigint,
            left_ms     bigint,
            rescued_ms  bigint,
            boot        text NOT NULL,
            machine     text NOT NULL,
            abandoned   bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        CREATE INDEX daemon_open ON halyard.daemon (id) WHERE rescued_ms IS NULL;
        CREATE INDEX daemon_identity ON halyard.daemon (identity, id);

        -- The daemons that start no jobs until they are resumed, also after a restart.
        CREATE TABLE halyard.drained (
            identity text PRIMARY KEY,
            since_ms bigint NOT NULL
        );

        -- One row for each store that hears of the commits of others. Nobody sends notifications if nobody hears.
        CREATE TABLE halyard.listener (
            id      bigint PRIMARY KEY,
            backend integer NOT NULL
        );

        CREATE TABLE halyard.kind (
            name        text NOT NULL,
            identity    text NOT NULL,
            number      bigint NOT NULL,
            summary     text NOT NULL,
            input_type  text NOT NULL,
            output_type text NOT NULL,
            accepts     text,
            offers      text NOT NULL,
            fields      text NOT NULL,
            updated_ms  bigint NOT NULL,
            PRIMARY KEY (name, identity)
        );
        CREATE SEQUENCE halyard.registration;

        -- The row of a removed queue stays for the final jobs that refer to it.
        CREATE TABLE halyard.queue (
            id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            name       text NOT NULL CONSTRAINT queue_name UNIQUE,
            "limit"    bigint NOT NULL CONSTRAINT queue_limit CHECK ("limit" BETWEEN 1 AND 10000),
            limit_per_daemon bigint CONSTRAINT queue_limit_per_daemon CHECK (limit_per_daemon BETWEEN 1 AND 10000),
            weight     bigint NOT NULL CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000),
            paused_ms  bigint,
            removed_ms bigint
        );

        -- The slots of a queue's limit that a daemon may fill. Together they do not exceed the limit, and none takes more
        -- than limit_per_daemon.
        CREATE TABLE halyard.share (
            queue  bigint NOT NULL,
            daemon bigint NOT NULL,
            slots  bigint NOT NULL,
            -- When the daemon last found too few slots, on the scale of steady_ms.
            wants_ms bigint,
            PRIMARY KEY (queue, daemon),
            CONSTRAINT share_slots CHECK (slots >= 0)
        ) WITH (fillfactor = 50);

        -- One row for each revision; a removed or replaced revision stays for the jobs that refer to it.
        CREATE TABLE halyard.definition (
            id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            name        text NOT NULL,
            revision    bigint NOT NULL,
            kind        text NOT NULL,
            summary     text,
            queue       text NOT NULL,
            priority    bigint NOT NULL CONSTRAINT definition_priority CHECK (priority BETWEEN -2 AND 2),
            retry       text NOT NULL,
            max_tries   bigint NOT NULL CONSTRAINT definition_tries CHECK (max_tries >= 1),
            timeout_ms  bigint CONSTRAINT definition_timeout CHECK (timeout_ms > 0),
            input       text NOT NULL,
            program     text,
            updated_ms  bigint NOT NULL,
            replaced_ms bigint,
            CONSTRAINT definition_revision UNIQUE (name, revision)
        );
        CREATE UNIQUE INDEX definition_current ON halyard.definition (name) WHERE replaced_ms IS NULL;

        CREATE TABLE halyard.graph_definition (
            id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            name        text NOT NULL,
            revision    bigint NOT NULL,
            body        text NOT NULL,
            summary     text,
            updated_ms  bigint NOT NULL,
            replaced_ms bigint,
            CONSTRAINT graph_definition_revision UNIQUE (name, revision)
        );
        CREATE UNIQUE INDEX graph_definition_current ON halyard.graph_definition (name) WHERE replaced_ms IS NULL;

        -- Why a daemon cannot use a definition or graph definition. The last daemon that recorded problems counts.
        CREATE TABLE halyard.problem (
            identity text NOT NULL,
            number   bigint NOT NULL,
            name     text NOT NULL,
            reason   text,
            PRIMARY KEY (identity, name)
        );

        -- The daemon computes next_ms, the first time after after_ms, from the schedule's calendar and time zone.
        -- steady_ms is when the schedule last fired, skipped a time, or was written or resumed.
        CREATE TABLE halyard.schedule (
            name          text PRIMARY KEY,
            revision      bigint NOT NULL CONSTRAINT schedule_revision CHECK (revision >= 1),
            body          text NOT NULL,
            summary       text,
            updated_ms    bigint NOT NULL,
            after_ms      bigint NOT NULL,
            next_ms       bigint CONSTRAINT schedule_next CHECK (next_ms > after_ms),
            paused_ms     bigint,
            last_ms       bigint,
            last_job      bigint,
            last_graph    bigint,
            skipped_ms    bigint,
            problem       text,
            steady_ms     bigint NOT NULL,
            CONSTRAINT schedule_without_next_when_paused CHECK (paused_ms IS NULL OR next_ms IS NULL),
            CONSTRAINT schedule_last CHECK (last_ms IS NULL OR last_job IS NOT NULL),
            CONSTRAINT schedule_last_graph CHECK (last_graph IS NULL OR last_job IS NOT NULL)
        );
        CREATE INDEX schedule_due ON halyard.schedule (next_ms) WHERE next_ms IS NOT NULL;

        -- The scale of every steady_ms, as the table of the same name in an SQLite database. A server's own time needs
        -- no row of its own: the scale then is the server's clock.
        CREATE TABLE halyard.clock (
            id        bigint PRIMARY KEY CHECK (id = 1),
            boot      text NOT NULL,
            origin_ms bigint NOT NULL,
            skew_ms   bigint NOT NULL,
            seen_ms   bigint NOT NULL
        );
        """

    private static let jobs = """
        -- The ready jobs of one queue, priority, kind, class and home have one order, so a claim looks only at lanes with
        -- room. A home is the identity of the only daemon that can run the jobs, since it has their files.
        CREATE TABLE halyard.lane (
            id       bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            queue    bigint NOT NULL,
            priority bigint NOT NULL CONSTRAINT lane_priority CHECK (priority BETWEEN -2 AND 2),
            kind     text NOT NULL,
            class    bigint NOT NULL CONSTRAINT lane_class CHECK (class BETWEEN 0 AND 3),
            home     text,
            CONSTRAINT lane_key UNIQUE NULLS NOT DISTINCT (queue, priority, kind, class, home)
        );

        -- The jobs of a graph have consecutive numbers.
        CREATE TABLE halyard.graph (
            id          bigint PRIMARY KEY,
            name        text,
            enqueued_ms bigint NOT NULL,
            first_job   bigint NOT NULL,
            jobs        bigint NOT NULL CONSTRAINT graph_jobs CHECK (jobs >= 1)
        );

        CREATE TABLE halyard.job (
            id           bigint PRIMARY KEY,
            lane         bigint NOT NULL,
            definition   bigint NOT NULL,
            graph        bigint,
            node         text,
            repeats      bigint,
            dependencies bigint NOT NULL,
            enqueued_ms  bigint NOT NULL,
            input        text CONSTRAINT job_input_size CHECK (octet_length(input) <= 1048576)
        ) PARTITION BY RANGE (id);

        CREATE TABLE halyard.dependency (
            dependent  bigint NOT NULL,
            position   bigint NOT NULL CONSTRAINT dependency_position CHECK (position >= 0),
            dependency bigint NOT NULL,
            condition  bigint NOT NULL CONSTRAINT dependency_condition CHECK (condition IN (0, 1)),
            PRIMARY KEY (dependent, position),
            CONSTRAINT dependency_on_another CHECK (dependency <> dependent)
        ) PARTITION BY RANGE (dependent);
        CREATE INDEX dependency_dependents ON halyard.dependency (dependency, condition, (dependent + 0)); -- S6

        -- A key stands for the jobs from first_job on, as many as it says, until the last of them is pruned.
        CREATE TABLE halyard.idempotency (
            key         text PRIMARY KEY,
            fingerprint bigint NOT NULL,
            graph       bigint,
            first_job   bigint NOT NULL CONSTRAINT idempotency_first_job UNIQUE,
            jobs        bigint NOT NULL CONSTRAINT idempotency_jobs CHECK (jobs >= 1),
            CONSTRAINT idempotency_key CHECK (octet_length(key) BETWEEN 1 AND 255)
        );

        -- The attempts that ended in another way than with success; a success is a column of done.
        CREATE TABLE halyard.attempt (
            job         bigint NOT NULL,
            number      bigint NOT NULL CONSTRAINT attempt_number CHECK (number >= 1),
            outcome     bigint NOT NULL CONSTRAINT attempt_outcome CHECK (outcome BETWEEN 1 AND 5),
            started_ms  bigint NOT NULL,
            ended_ms    bigint NOT NULL,
            code        text NOT NULL,
            message     text NOT NULL,
            detail      text,
            retry_ms    bigint,
            connections text,
            usage       text,
            PRIMARY KEY (job, number)
        ) PARTITION BY RANGE (job);

        -- The final jobs whose result is a file, with the identity of the daemon that keeps it.
        CREATE TABLE halyard.kept (
            job  bigint PRIMARY KEY,
            home text NOT NULL
        );

        -- The last checkpoint of a job that is not final, and the attempt that saved it.
        CREATE TABLE halyard.checkpoint (
            job      bigint PRIMARY KEY,
            attempt  bigint NOT NULL,
            saved_ms bigint NOT NULL,
            value    text NOT NULL CONSTRAINT checkpoint_size CHECK (octet_length(value) <= 65536)
        ) WITH (fillfactor = 70);

        CREATE SEQUENCE halyard.job_number;
        CREATE SEQUENCE halyard.graph_number;

        -- The first of consecutive numbers of jobs that begin here and are in one range of history: if they do not fit into
        -- this one, they begin with the next (N6).
        CREATE FUNCTION halyard.fitting(number bigint, count bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            ending bigint := (SELECT below FROM halyard.range WHERE first <= number ORDER BY first DESC LIMIT 1);
        BEGIN
            IF number + count > ending
               AND EXISTS (SELECT 1 FROM halyard.range WHERE first = ending AND below - first >= count AND is_published)
            THEN
                RETURN ending;
            END IF;
            RETURN number;
        END $$;

        -- Takes consecutive numbers. The lock is needed since a sequence gives only one number at a time. ending is the end
        -- of a range of history that the caller knows, or NULL if the numbers are not those of jobs.
        CREATE FUNCTION halyard.take_numbers(sequence text, count bigint, ending bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            first bigint;
        BEGIN
            PERFORM pg_advisory_lock(hashtextextended(sequence, 4711));
            first := nextval(sequence::regclass);
            IF count > 1 THEN
                IF first + count > ending THEN first := halyard.fitting(first, count); END IF;
                PERFORM setval(sequence::regclass, first + count - 1);
            END IF;
            PERFORM pg_advisory_unlock(hashtextextended(sequence, 4711));
            RETURN first;
        END $$;
        """

    private static let seed = """
        INSERT INTO halyard.settings (id, version) VALUES (1, 1);
        INSERT INTO halyard.queue (name, "limit", weight) VALUES ('default', 16, 1);
        INSERT INTO halyard.clock (id, boot, origin_ms, skew_ms, seen_ms) VALUES (1, '', 0, 0, 0);
        """
}
