extension Migration {
    static let counts = """
        -- The subject is the number of a graph, or the negative number of a queue.
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
            skipped   bigint NOT NULL
        ) WITH (\(vacuum));
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

        CREATE FUNCTION halyard.tally(of bigint)
        RETURNS TABLE (at_ms bigint, blocked bigint, scheduled bigint, ready bigint, running bigint,
                       succeeded bigint, failed bigint, cancelled bigint, skipped bigint)
        LANGUAGE sql STABLE ROWS 1
        SET enable_seqscan = off SET enable_bitmapscan = off AS $$
            WITH fold AS (
                SELECT   *
                FROM     halyard.tally_fold
                WHERE    subject = $1
                ORDER BY txid DESC
                LIMIT    1
            ), part AS (
                SELECT fold.* FROM fold
                UNION ALL
                SELECT change.*
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

        CREATE FUNCTION halyard.fold_tally(of bigint) RETURNS void LANGUAGE plpgsql
        SET enable_seqscan = off SET enable_bitmapscan = off AS $$
        DECLARE
            floor bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
        BEGIN
            INSERT INTO halyard.tally_fold
            SELECT of, floor, coalesce(max(at_ms), 0), sum(blocked), sum(scheduled), sum(ready), sum(running),
                   sum(succeeded), sum(failed), sum(cancelled), sum(skipped)
            FROM   (SELECT * FROM (SELECT * FROM halyard.tally_fold AS fold WHERE fold.subject = of
                                   ORDER BY fold.txid DESC LIMIT 1) AS last
                    UNION ALL
                    SELECT * FROM halyard.tally_change AS change
                    WHERE  change.subject = of AND change.txid < floor
                    AND    change.txid >= coalesce((SELECT max(fold.txid) FROM halyard.tally_fold AS fold
                                                    WHERE fold.subject = of), 0)) AS part
            HAVING count(*) > 0
            ON CONFLICT DO NOTHING;
            DELETE FROM halyard.tally_change AS change WHERE change.subject = of AND change.txid < floor;
            DELETE FROM halyard.tally_fold AS fold WHERE fold.subject = of AND fold.txid < floor;
        END $$;
        """
}
