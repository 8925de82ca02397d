extension Migration {
    /// The tables of history, whose rows stay until they are pruned. Each is partitioned by the numbers of jobs, so that
    /// pruning a whole range drops a partition of each and leaves no deleted rows.
    ///
    /// - N1: Ranges are added at the end, before the sequence reaches them. Adding a range waits for no reader: there
    ///   is no default partition, whose rows the server would have to check under a lock that a `pg_dump` delays.
    /// - N2: A transaction that takes a number beyond the last range adds the range itself. So each number has a range.
    /// - N3: A range is closed when every transaction that may insert a job of it has ended. Only a closed range is
    ///   dropped, with all its partitions in one transaction.
    /// - N4: `range.pruned` counts the jobs that were deleted one by one. The jobs of a range are counted before the
    ///   transaction that drops it, and the counts are right if `pruned` has not changed since.
    /// - N5: The row of a dropped range stays until its keys and graphs are deleted. If a prune is interrupted, any
    ///   later prune continues.
    /// - N6: Jobs that are enqueued together are in one range, unless there are more jobs than a range can have. Jobs
    ///   on both sides of a boundary would keep two ranges from being dropped.
    /// - N7: A server process may see the rows of a transaction before it learns that the transaction has attached a
    ///   partition, and then miss rows of the partition. It learns this when it takes a lock that it does not have yet.
    ///   So a later transaction publishes the range, and only a published range gets rows. A transaction that adds a
    ///   range for its own jobs (N2) keeps all others from writing jobs until it has ended.
    static let historyTables = ["job", "done", "dependency", "attempt"]

    /// The number of tries to take numbers in one range (N6). The first fails if the next range does not exist yet.
    static let rangeTries = 2

    static let ranges = """
        CREATE TABLE halyard.range (
            first       bigint PRIMARY KEY,
            below       bigint NOT NULL CONSTRAINT range_below UNIQUE,
            is_published boolean NOT NULL DEFAULT false,
            is_closed   boolean NOT NULL DEFAULT false,
            pruned      bigint NOT NULL DEFAULT 0,
            is_dropped  boolean NOT NULL DEFAULT false,
            -- The graphs of a dropped range are among these.
            first_graph bigint,
            last_graph  bigint,
            -- The first job of the next key to delete.
            first_key   bigint,
            CONSTRAINT range_order CHECK (first < below)
        ) WITH (fillfactor = 50);

        -- Adds ranges until one contains the number. They are not published yet. Runs as the owner of the tables, so that
        -- the partitions belong to the same role whichever daemon or program adds them.
        CREATE FUNCTION halyard.add_ranges(number bigint, width bigint) RETURNS void LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        DECLARE
            ending bigint;
            ranges bigint;
            last_width bigint;
            next bigint;
            history text;
        BEGIN
            PERFORM pg_advisory_xact_lock(\(AdvisoryLock.ranges));
            LOOP
                SELECT coalesce(max(below), 1), count(*), max(below) - max(first)
                INTO   ending, ranges, last_width
                FROM   halyard.range;
                -- A snapshot that is older than the range does not see its row.
                IF ending > number OR to_regclass('halyard.job_from_' || ending) IS NOT NULL THEN RETURN; END IF;
                -- Statements lock every partition before PostgreSQL 18, so there must not be many. Jobs that were moved in
                -- may have numbers far beyond the last range: one range is enough for those that came before.
                next := CASE WHEN number - ending > 24 * width THEN number - number % width
                             WHEN ranges < 24 THEN ending + width
                             ELSE ending + greatest(width, last_width * 3 / 2) END;
                FOREACH history IN ARRAY '{\(historyTables.joined(separator: ","))}'::text[] LOOP
                    EXECUTE format('CREATE TABLE halyard.%I (LIKE halyard.%I INCLUDING ALL)',
                                   history || '_from_' || ending, history);
                    EXECUTE format('ALTER TABLE halyard.%I ATTACH PARTITION halyard.%I FOR VALUES FROM (%s) TO (%s)',
                                   history, history || '_from_' || ending, ending, next);
                END LOOP;
                INSERT INTO halyard.range (first, below) VALUES (ending, next);
            END LOOP;
        END $$;

        -- Publishes the added ranges, when the transactions that have added them have ended (N7).
        CREATE FUNCTION halyard.publish_ranges() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(\(AdvisoryLock.ranges));
            UPDATE halyard.range SET is_published = true WHERE NOT is_published;
        END $$;

        -- The end of the range that contains the first of some consecutive numbers. Adds ranges for them, and for as many
        -- again, if nobody has done so ahead (N2).
        CREATE FUNCTION halyard.range_end(number bigint, count bigint, width bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            needed bigint := number + CASE WHEN count = 1 THEN 0 ELSE 2 * count - 1 END;
            timeout text := current_setting('lock_timeout');
        BEGIN
            IF needed >= (SELECT max(below) FROM halyard.range WHERE is_published) THEN
                -- A transaction with one snapshot for all its statements cannot see whether the range exists.
                IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
                    RAISE EXCEPTION 'a range of history is missing; repeat the transaction, if necessary as READ COMMITTED'
                    USING ERRCODE = 'serialization_failure';
                END IF;
                -- Two that both exclude all others would wait for each other. The repetition waits until the other has
                -- ended, since that one waits for the lock below.
                IF NOT pg_try_advisory_xact_lock(\(AdvisoryLock.preparing)) THEN
                    RAISE EXCEPTION 'another transaction is adding a range of history; repeat the transaction'
                    USING ERRCODE = 'serialization_failure';
                END IF;
                -- All others that write jobs wait behind this one, so it does not wait long, nor stay idle.
                PERFORM set_config('lock_timeout', '1s', true);
                BEGIN
                    PERFORM pg_advisory_xact_lock(\(AdvisoryLock.adding));
                EXCEPTION WHEN lock_not_available THEN
                    RAISE EXCEPTION 'a range of history must be added, but another transaction that enqueues is still open; repeat the transaction'
                    USING ERRCODE = 'serialization_failure';
                END;
                PERFORM set_config('lock_timeout', timeout, true);
                PERFORM halyard.limit_idle_time();
                PERFORM halyard.add_ranges(needed, width);
                PERFORM halyard.publish_ranges();
            END IF;
            -- Takes a lock that this transaction does not have, so that its process learns of ranges that others have
            -- attached since it began.
            PERFORM pg_relation_size('halyard.schema_version');
            RETURN (SELECT below FROM halyard.range WHERE first <= number ORDER BY first DESC LIMIT 1);
        END $$;

        -- Drops a closed range whose jobs are all final, unless jobs were deleted one by one since they were counted, or a
        -- later job depends on them. Waits at most 100 ms for locks in total, since all others wait behind it. Returns
        -- 'dropped', 'busy', 'changed' or 'needed'.
        CREATE FUNCTION halyard.drop_range(of bigint, counted_at bigint, of_first_graph bigint, of_last_graph bigint)
        RETURNS text LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
        DECLARE
            ending bigint;
            history text;
            deadline timestamptz := clock_timestamp() + interval '100 ms';
        BEGIN
            -- Excludes all that write jobs, and with them every other drop. Only readers are left.
            PERFORM pg_advisory_xact_lock(\(AdvisoryLock.adding));
            SELECT below
            INTO   ending
            FROM   halyard.range
            WHERE  first = of AND is_closed AND NOT is_dropped AND pruned = counted_at;
            IF ending IS NULL THEN RETURN 'changed'; END IF;
            IF EXISTS (SELECT 1 FROM halyard.dependency
                       WHERE dependency >= of AND dependency < ending AND dependent >= ending) THEN
                RETURN 'needed';
            END IF;
            FOREACH history IN ARRAY '{\(historyTables.joined(separator: ","))}'::text[] LOOP
                PERFORM set_config('lock_timeout',
                                   greatest(1, ceil(extract(epoch FROM deadline - clock_timestamp()) * 1000)) || 'ms',
                                   true);
                -- The table first, as statements do.
                EXECUTE format('LOCK TABLE ONLY halyard.%I IN ACCESS EXCLUSIVE MODE', history);
                EXECUTE format('DROP TABLE halyard.%I', history || '_from_' || of);
            END LOOP;
            UPDATE halyard.range
            SET    is_dropped = true, first_graph = of_first_graph, last_graph = of_last_graph
            WHERE  first = of;
            RETURN 'dropped';
        EXCEPTION WHEN lock_not_available THEN
            -- The locks that it had are released.
            RETURN 'busy';
        END $$;

        -- Marks a range whose numbers are all taken as closed (N3). Waits at most 100 ms for the open transactions that add
        -- jobs. Returns whether the range is closed.
        CREATE FUNCTION halyard.close_range(of bigint) RETURNS boolean LANGUAGE plpgsql
        SET lock_timeout = '100ms' AS $$
        BEGIN
            -- The last range tells where the next one begins, so it stays.
            PERFORM 1 FROM halyard.range
            WHERE  first = of
            AND    below <= (SELECT last_value FROM halyard.job_number)
            AND    below < (SELECT max(below) FROM halyard.range);
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM pg_advisory_xact_lock(\(AdvisoryLock.adding));
            UPDATE halyard.range SET is_closed = true WHERE first = of AND NOT is_closed;
            RETURN true;
        EXCEPTION WHEN lock_not_available THEN
            RETURN false;
        END $$;

        SELECT halyard.add_ranges(\(PostgresStoreOptions.usualRangeJobs + 1), \(PostgresStoreOptions.usualRangeJobs)),
               halyard.publish_ranges();
        """
}
