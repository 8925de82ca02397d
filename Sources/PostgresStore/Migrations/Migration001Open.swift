extension Migration {
    /// The halves of hot tables (S4).
    static let halves = """
        -- One bit for each hot table: the half that takes new rows. A sequence, since its value has no versions: it costs
        -- nothing under a held snapshot, and a change counts at once.
        CREATE SEQUENCE halyard.halves MINVALUE 0 START 0;

        -- The half of a hot table that takes new rows, for inserts that name none.
        CREATE FUNCTION halyard.half(number integer) RETURNS smallint LANGUAGE plpgsql STABLE AS $$
        BEGIN
            RETURN (SELECT last_value >> number & 1 FROM halyard.halves);
        END $$;
        """

    /// The columns that a job keeps through all its states, and the half of the table that contains the row.
    private static func progress(_ table: HotTable) -> String {
        """
            job        bigint NOT NULL,
            lane       bigint NOT NULL,
            graph      bigint,
            attempt    bigint NOT NULL,
            tries      bigint NOT NULL,
            rescues    bigint NOT NULL,
            due_ms     bigint,
            steady_ms  bigint,
            started_ms bigint,
            half       smallint NOT NULL DEFAULT halyard.half(\(table.bit)),
        """
    }

    /// Tables that are emptied as fast as they are filled are vacuumed by the number of deleted rows, not by the share of
    /// rows that the server last counted.
    private static let vacuum = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000"

    /// Creates both halves of a table.
    static func halves(of table: HotTable, fillfactor: Int = 100) -> String {
        [0, 1].map { half in
            """
            CREATE TABLE halyard.\(table.name(half: half)) PARTITION OF halyard.\(table.parent) FOR VALUES IN (\(half))
                WITH (fillfactor = \(fillfactor), \(vacuum));
            """
        }.joined(separator: "\n")
    }

    /// The states of jobs that are not final.
    static let open = """
        CREATE TABLE halyard.blocked (
        \(progress(.blocked))
            pending bigint NOT NULL CONSTRAINT blocked_pending CHECK (pending > 0),
            PRIMARY KEY (job, half)
        ) PARTITION BY LIST (half);
        \(halves(of: .blocked, fillfactor: 70))

        -- Waits for due_ms on the calendar or, if steady_ms is set, for the end of a wait that was requested as a
        -- duration.
        CREATE TABLE halyard.scheduled (
        \(progress(.scheduled))
            PRIMARY KEY (job, half)
        ) PARTITION BY LIST (half);
        \(halves(of: .scheduled))
        CREATE INDEX scheduled_due ON halyard.scheduled (due_ms) WHERE steady_ms IS NULL;
        CREATE INDEX scheduled_wait ON halyard.scheduled (steady_ms) WHERE steady_ms IS NOT NULL;

        -- steady_ms is the time since which the job has been ready.
        CREATE TABLE halyard.ready (
        \(progress(.ready))
            txid bigint NOT NULL,
            PRIMARY KEY (job, half)
        ) PARTITION BY LIST (half);
        \(halves(of: .ready))
        CREATE INDEX ready_place ON halyard.ready (lane, txid, steady_ms, (job + 0)); -- S6

        CREATE TABLE halyard.running (
        \(progress(.running))
            daemon    bigint NOT NULL,
            cancel_ms bigint,
            PRIMARY KEY (job, half)
        ) PARTITION BY LIST (half);
        \(halves(of: .running, fillfactor: 90))
        CREATE INDEX running_daemon ON halyard.running (daemon);
        -- The expression prevents the use of the other index, which has an entry for each job.
        CREATE INDEX running_cancelled ON halyard.running ((daemon + 0)) WHERE cancel_ms IS NOT NULL;

        -- The certain beginning of each lane, stored from time to time for daemons that start. Each row holds all lanes.
        CREATE TABLE halyard.floor (
            id   bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            body text NOT NULL
        );
        """

    static let done = """
        -- Final jobs with their results. If an attempt succeeded, it is the last one. attempt is the number of the
        -- attempt that the result comes from, 0 for none; last_attempt is the job's last one.
        CREATE TABLE halyard.done (
            job          bigint PRIMARY KEY,
            outcome      bigint NOT NULL CONSTRAINT done_outcome CHECK (outcome BETWEEN 4 AND 7),
            attempt      bigint NOT NULL,
            last_attempt bigint NOT NULL,
            tries        bigint NOT NULL,
            rescues      bigint NOT NULL,
            pending      bigint NOT NULL,
            due_ms       bigint,
            started_ms   bigint,
            finished_ms  bigint NOT NULL,
            cancel_ms    bigint,
            value        text,
            code         text,
            message      text,
            detail       text,
            connections  text,
            usage        text,
            CONSTRAINT done_value_when_succeeded CHECK ((outcome = 4) = (value IS NOT NULL)),
            CONSTRAINT done_failure_otherwise CHECK ((outcome = 4) = (code IS NULL)),
            CONSTRAINT done_message CHECK ((code IS NULL) = (message IS NULL)),
            CONSTRAINT done_size CHECK (octet_length(value) <= 1048576)
        ) PARTITION BY RANGE (job);
        CREATE INDEX done_unsuccessful ON halyard.done (outcome, job) WHERE outcome > 4;
        """
}
