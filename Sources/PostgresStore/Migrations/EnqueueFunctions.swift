import Jobs
import StoreParts

/// `halyard.enqueue`, which enqueues within a transaction of the caller.
///
/// - E2: It takes the locks of a daemon's enqueue in the same order: the shared lock of all that add jobs, the key, and
///   the rows of existing jobs, from the last state to the first.
/// - E3: It inserts the same rows as ``Writer/write(_:now:)``.
/// - E4: A caller holds ``AdvisoryLock/calling`` from before it reads `listener.asleep` until its transaction ends. So a
///   daemon that falls asleep looks until it has seen a moment without callers, and then each later caller sees it
///   asleep.
extension Migration {
    /// Created again after each migration, as the views are.
    static let enqueueing = enqueueChecks + enqueueFiles + enqueuePlanning + enqueueFunctions + [permissions]

    private static let enqueueFunctions = [numbers, existing, skipping, lanes, inserting, accepting, entries]

    private static let numbers = """
        -- Takes consecutive numbers as halyard.take_numbers, in a session of another program: if the statement is
        -- cancelled, the session must not keep the lock.
        CREATE OR REPLACE FUNCTION halyard.numbers(sequence text, count bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            first bigint;
        BEGIN
            PERFORM pg_advisory_lock(hashtextextended(sequence, 4711));
            BEGIN
                first := nextval(sequence::regclass);
                IF count > 1 THEN
                    IF sequence = 'halyard.job_number' THEN first := halyard.fitting(first, count); END IF;
                    PERFORM setval(sequence::regclass, first + count - 1);
                END IF;
            EXCEPTION WHEN query_canceled OR OTHERS THEN
                PERFORM pg_advisory_unlock(hashtextextended(sequence, 4711));
                RAISE;
            END;
            PERFORM pg_advisory_unlock(hashtextextended(sequence, 4711));
            RETURN first;
        END $$;
        """

    /// The lock keeps the row from being deleted, so the job cannot change its state. It can still be cancelled.
    private static func lock(_ table: String, _ column: String, isHistory: Bool = false) -> String {
        """
        SELECT coalesce(jsonb_object_agg(locked.job, locked.outcome), '{}')
        INTO   part
        FROM   (SELECT job, \(column) AS outcome FROM halyard.\(table)
                WHERE job = ANY (missing)\(isHistory ? " AND job BETWEEN low AND high" : "")
                ORDER BY job FOR KEY SHARE) AS locked;
        outcomes := outcomes || part;
        missing := ARRAY(SELECT job FROM unnest(missing) AS job WHERE NOT outcomes ? job::text);
        """
    }

    /// How long a caller may be idle in a transaction that the end of an attempt waits for.
    private static let longestIdle = "10s"

    private static let existing = """
        -- Lets the server end the session if it stays idle in this transaction, unless it has a shorter limit.
        CREATE OR REPLACE FUNCTION halyard.limit_idle_time() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            own interval := current_setting('idle_in_transaction_session_timeout');
        BEGIN
            IF own = '0' OR own > '\(longestIdle)' THEN
                PERFORM set_config('idle_in_transaction_session_timeout', '\(longestIdle)', true);
            END IF;
        END $$;

        -- The outcomes of existing jobs, by number; null for one that is open, which is locked so that it does not end
        -- before the edges to it are committed. A job that moves to another state meanwhile is found by the next look.
        CREATE OR REPLACE FUNCTION halyard.lock_existing(jobs bigint[]) RETURNS jsonb LANGUAGE plpgsql AS $$
        DECLARE
            missing bigint[];
            outcomes jsonb := '{}';
            found jsonb;
            part jsonb;
            low bigint := (SELECT min(job) FROM unnest(jobs) AS job);
            high bigint := (SELECT max(job) FROM unnest(jobs) AS job);
        BEGIN
            FOR look IN 1..100 LOOP
                missing := ARRAY(SELECT job.id FROM halyard.job
                                 WHERE job.id = ANY (jobs) AND NOT outcomes ? job.id::text AND job.id BETWEEN low AND high
                                 ORDER BY job.id);
                EXIT WHEN cardinality(missing) = 0;
                found := outcomes;
                BEGIN
                    \(lock("running", "NULL::bigint"))
                    \(lock("ready", "NULL::bigint"))
                    \(lock("scheduled", "NULL::bigint"))
                    \(lock("blocked", "NULL::bigint"))
                    \(lock("done", "outcome", isHistory: true))
                EXCEPTION WHEN serialization_failure THEN
                    -- A row was moved to the other half of its table. A transaction with one snapshot for all its statements
                    -- cannot see it there.
                    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN RAISE; END IF;
                    outcomes := found;
                    CONTINUE;
                END;
                EXIT WHEN cardinality(missing) = 0;
            END LOOP;
            RETURN outcomes;
        END $$;
        """

    // MARK: Skipping

    /// The failure of a skipped job: U+0001 and U+0002 are the dependency and its name, and the following two the job that
    /// caused the first skip, if it is another one.
    private static func failure(_ outcome: Outcome, isFirst: Bool) -> JobFailure {
        let dependency = Culprit(job: JobID(987_654_321), name: "\u{2}", outcome: outcome)
        return .dependency(
            dependency,
            first: isFirst ? dependency : Culprit(job: JobID(123_456_789), name: "\u{4}", outcome: .failed))
    }

    private static func message(_ outcome: Outcome, isFirst: Bool) -> String {
        failure(outcome, isFirst: isFirst).message
            .replacing("987654321", with: "\u{1}").replacing("123456789", with: "\u{3}")
    }

    private static let unsuccessful: [Outcome] = [.failed, .cancelled, .skipped]

    private static func cases(_ text: (Outcome) -> String) -> String {
        "CASE because_outcome "
            + unsuccessful.map { "WHEN \($0.rawValue) THEN \(literal(text($0)))" }.joined(separator: " ") + " END"
    }

    /// The verb of the first culprit is the only part of a message that depends on its outcome.
    private static let verbs =
        "CASE first ->> 'outcome' "
        + unsuccessful.map { "WHEN '\($0.name)' THEN \(literal(Culprit(job: JobID(1), name: "", outcome: $0).verb))" }
        .joined(separator: " ") + " END"

    private static let skipping = """
        -- Records the result of a job that is skipped because of a dependency. Returns the job that caused the first skip.
        CREATE OR REPLACE FUNCTION halyard.skip(
            skipped bigint, pending bigint, due_ms bigint, now_ms bigint, because bigint, because_name text,
            because_outcome bigint, first jsonb)
        RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            words text;
        BEGIN
            IF first ->> 'job' = because::text THEN
                words := \(cases { message($0, isFirst: true) });
            ELSE
                words := replace(\(cases { message($0, isFirst: false) }), \(literal(") " + Culprit(job: JobID(1), name: "", outcome: .failed).verb + ". ")),
                                 ') ' || \(verbs) || '. ');
            END IF;
            words := replace(replace(replace(words, chr(1), because::text), chr(3), first ->> 'job'), chr(2), because_name);
            words := replace(words, chr(4), first ->> 'name');
            INSERT INTO halyard.done (job, outcome, attempt, last_attempt, tries, rescues, pending, due_ms, started_ms,
                                      finished_ms, code, message, detail)
            VALUES (skipped, \(Outcome.skipped.rawValue), 0, 0, 0, 0, pending, due_ms, NULL, now_ms,
                    \(cases { failure($0, isFirst: true).code }), words,
                    '{"job":' || (first ->> 'job') || ',"name":' || halyard.quoted(first ->> 'name') || ',"outcome":'
                        || halyard.quoted(first ->> 'outcome') || '}');
        END $$;
        """
}
