extension Migration {
    static let counts = """
        -- The subject is the number of a graph, or the negative number of a queue. The counts of queues change all the
        -- time, those of a graph while it is open.
        CREATE TABLE halyard.tally_change (
            subject   bigint NOT NULL,
            txid      bigint NOT NULL,
            at_ms     bigint NOT NULL,
            blocked   bigint NOT NULL,
            scheduled bigint NOT NULL,
            ready     bigint NOT NULL,
            running   bigint NOT NULL,
            succeeded bigint NOT NULL,
            failed    bigint NOT NULL,
            cancelled bigint NOT NULL,
            skipped   bigint NOT NULL,
            half      smallint NOT NULL DEFAULT halyard.half(\(HotTable.tally.bit))
        ) PARTITION BY RANGE (subject);
        CREATE TABLE halyard.tally_change_graph PARTITION OF halyard.tally_change FOR VALUES FROM (0) TO (MAXVALUE);
        CREATE TABLE halyard.tally_change_queue PARTITION OF halyard.tally_change FOR VALUES FROM (MINVALUE) TO (0)
            PARTITION BY LIST (half);
        \(halves(of: .tally))
        CREATE INDEX tally_change_subject ON halyard.tally_change (subject, txid);

        -- The sum of all changes by transactions before txid, which have all ended.
        CREATE TABLE halyard.tally_fold (
            subject   bigint NOT NULL,
            txid      bigint NOT NULL,
            at_ms     bigint NOT NULL,
            blocked   bigint NOT NULL,
            scheduled bigint NOT NULL,
            ready     bigint NOT NULL,
            running   bigint NOT NULL,
            succeeded bigint NOT NULL,
            failed    bigint NOT NULL,
            cancelled bigint NOT NULL,
            skipped   bigint NOT NULL,
            PRIMARY KEY (subject, txid)
        );
        CREATE INDEX tally_fold_txid ON halyard.tally_fold (txid);

        -- The largest next transaction number that a fold has read. Transactions with one snapshot for all their
        -- statements see the current value too, since a sequence has no versions.
        CREATE SEQUENCE halyard.folded MINVALUE 0 START 0;

        CREATE FUNCTION halyard.tally(of bigint)
        RETURNS TABLE (at_ms bigint, blocked bigint, scheduled bigint, ready bigint, running bigint,
                       succeeded bigint, failed bigint, cancelled bigint, skipped bigint)
        LANGUAGE sql STABLE ROWS 1
        SET enable_seqscan = off SET enable_bitmapscan = off AS $$
            WITH fold AS (
                SELECT   subject, txid, at_ms, blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
                FROM     halyard.tally_fold
                WHERE    subject = $1
                ORDER BY txid DESC
                LIMIT    1
            ), part AS (
                SELECT fold.* FROM fold
                UNION ALL
                SELECT subject, txid, at_ms, blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
                FROM   halyard.tally_change AS change
                WHERE  change.subject = $1
                AND    change.txid >= coalesce((SELECT txid FROM fold), 0)
            )
            SELECT max(at_ms), coalesce(sum(blocked), 0)::bigint, coalesce(sum(scheduled), 0)::bigint,
                   coalesce(sum(ready), 0)::bigint, coalesce(sum(running), 0)::bigint,
                   coalesce(sum(succeeded), 0)::bigint, coalesce(sum(failed), 0)::bigint,
                   coalesce(sum(cancelled), 0)::bigint, coalesce(sum(skipped), 0)::bigint
            FROM   part
        $$;

        -- Returns false if another fold is in progress.
        CREATE FUNCTION halyard.fold_tally(of bigint) RETURNS boolean LANGUAGE plpgsql
        SET enable_seqscan = off SET enable_bitmapscan = off AS $$
        DECLARE
            floor bigint;
            behind bigint;
            since bigint;
        BEGIN
            -- One fold runs at a time, so that `halyard.folded` only grows. A call during another fold does nothing: a
            -- later one folds the changes.
            IF NOT pg_try_advisory_xact_lock(\(AdvisoryLock.folding)) THEN RETURN false; END IF;
            -- The last fold has deleted all changes before its number. A search from the first change would pass all deleted
            -- rows that a held snapshot keeps.
            SELECT coalesce(max(fold.txid), 0) INTO since FROM halyard.tally_fold AS fold WHERE fold.subject = of;
            -- Every transaction that changes counts holds the lock of those that add jobs. So all those below floor that
            -- hold it no longer have ended, and the statements below see what they have written. An open transaction of
            -- another program does not matter: once it has the lock, it counts from the newest number.
            floor := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
            -- `halyard.folded` is set before the locks are read: a transaction whose lock is not among them takes its
            -- lock later, and then reads the new value.
            PERFORM setval('halyard.folded', floor) FROM halyard.folded WHERE last_value < floor;
            SELECT max(below) INTO behind
            FROM   (SELECT (floor % 4294967296 - xact.transactionid::text::bigint + 4294967296) % 4294967296 AS below
                    FROM   pg_locks AS adding
                    JOIN   pg_locks AS xact ON xact.virtualtransaction = adding.virtualtransaction
                    WHERE  adding.locktype = 'advisory'
                    AND    adding.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND    (adding.classid::bigint << 32) + adding.objid::bigint = \(AdvisoryLock.adding)
                    AND    adding.objsubid = 1
                    AND    adding.granted
                    AND    xact.locktype = 'transactionid'
                    AND    xact.mode = 'ExclusiveLock') AS open
            -- Later transactions have larger numbers; their distance wraps around.
            WHERE  below < 2147483648;
            floor := floor - coalesce(behind, 0);
            IF floor <= since THEN RETURN true; END IF;
            -- A number that the server has not reached is of the server on which the database was dumped.
            WITH change AS (
                DELETE FROM halyard.tally_change AS change
                WHERE  change.subject = of AND change.txid >= since
                AND    (change.txid < floor OR change.txid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
                RETURNING at_ms, blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
            ), part AS (
                SELECT at_ms, blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
                FROM   halyard.tally_fold AS fold
                WHERE  fold.subject = of AND fold.txid = since
                UNION ALL
                SELECT at_ms, blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
                FROM   change
            )
            INSERT INTO halyard.tally_fold (subject, txid, at_ms, blocked, scheduled, ready, running, succeeded, failed,
                                            cancelled, skipped)
            SELECT of, floor, max(at_ms), sum(blocked), sum(scheduled), sum(ready), sum(running), sum(succeeded),
                   sum(failed), sum(cancelled), sum(skipped)
            FROM   part
            WHERE  EXISTS (SELECT 1 FROM change)
            HAVING count(*) > 0;
            IF FOUND THEN
                DELETE FROM halyard.tally_fold AS fold
                WHERE  fold.subject = of AND fold.txid >= since AND fold.txid < floor;
            END IF;
            RETURN true;
        END $$;
        """

    /// The number of a transaction that counts jobs, for `tally_change`. One of another program may have its own number
    /// since before the last fold, which then would not count it: it takes the newest number, of a snapshot newer than its
    /// lock. If its only snapshot is older, it takes the largest number of all folds.
    static let countedTransaction = """
        greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
                 CASE WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
                      THEN (SELECT last_value FROM halyard.folded) END)
        """
}
