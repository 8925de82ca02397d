import Jobs

extension Migration {
    static let accepting = """
        -- Enqueues a definition or graph definition, and returns the numbers of its jobs. after are the existing jobs to
        -- wait for: to succeed, and then, to finish.
        CREATE OR REPLACE FUNCTION halyard.accept(
            work text, given jsonb, with_key text, in_queue text, of_priority text, start_at timestamptz,
            delay interval, succeeded bigint[], finished bigint[],
            OUT graph bigint, OUT first_job bigint, OUT jobs bigint, OUT is_new boolean)
        LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            waits_for bigint[] := coalesce(succeeded, '{}') || coalesce(finished, '{}');
            kinds_of_wait bigint[];
            rank bigint;
            wait_s numeric;
            wait_ms bigint;
            at_ms bigint;
            print bigint;
            known halyard.idempotency;
            request record;
            outcomes jsonb;
            root_state bigint := \(JobState.ready.rawValue);
            root_pending bigint := 0;
            root_due bigint;
            root_steady bigint;
            now_ms bigint;
            count bigint;
            given_input text;
            cause bigint;
            first_cause jsonb;
            states bigint[];
            pendings bigint[];
            causes bigint[];
            queue_id bigint;
            lane_id bigint;
            own_home text;
            kept_home text;
        BEGIN
            -- The form of the arguments.
            IF of_priority IS NOT NULL THEN
                rank := CASE lower(translate(of_priority, '- ', '__'))
                    \(EnqueueWords.priorities.map { "WHEN '\($0.name)' THEN \($0.number)" }.joined(separator: " ")) END;
                IF of_priority ~ '^[+-]?[0-9]+$' AND of_priority::numeric BETWEEN -2 AND 2 THEN
                    rank := of_priority::numeric;
                END IF;
                IF rank IS NULL THEN
                    PERFORM halyard.refuse('invalid-request', halyard.worded(
                        \(literal(EnqueueWords.badPriority)),
                        CASE WHEN octet_length(halyard.quoted(of_priority)) <= 40 THEN halyard.quoted(of_priority)
                             ELSE halyard.phrase('string') END));
                END IF;
            END IF;
            IF start_at IS NOT NULL AND delay IS NOT NULL THEN
                PERFORM halyard.refuse('invalid-request', 'give either "at" or "delay", not both');
            END IF;
            IF NOT isfinite(start_at) THEN
                PERFORM halyard.refuse('invalid-request', '"at" must be a point in time, not infinity');
            END IF;
            at_ms := floor(extract(epoch FROM start_at) * 1000);
            wait_s := extract(epoch FROM delay);
            IF cardinality(waits_for) > 0 THEN
                IF array_position(waits_for, NULL) IS NOT NULL OR 1 > ANY (waits_for) THEN
                    PERFORM halyard.refuse('invalid-request', 'after: expected the number of a job');
                END IF;
                kinds_of_wait := array_fill(0, ARRAY[coalesce(cardinality(succeeded), 0)])
                    || array_fill(1, ARRAY[coalesce(cardinality(finished), 0)]);
            END IF;
            given := nullif(given, 'null');
            -- Shorter texts cannot be too deep.
            IF octet_length(given::text) > \(EnqueueWords.maxDepth) AND halyard.is_too_deep(given) THEN
                PERFORM halyard.refuse('invalid-request', \(literal(EnqueueWords.tooDeep)));
            END IF;

            PERFORM pg_advisory_xact_lock_shared(\(AdvisoryLock.adding)),
                    pg_advisory_xact_lock_shared(\(AdvisoryLock.calling));
            SELECT * INTO request FROM halyard.planned(work, given, with_key, in_queue, wait_s, waits_for);
            wait_ms := trunc(wait_s * 1000);

            -- The answer to an earlier request with the key stays valid even if definitions have changed since.
            FOR look IN 1..10 LOOP
                IF octet_length(with_key) BETWEEN 1 AND \(EnqueueWords.maxNameBytes) THEN
                    SELECT * INTO known FROM halyard.idempotency WHERE idempotency.key = with_key;
                    IF known.key IS NOT NULL THEN
                        IF print IS NULL THEN
                            print := halyard.fingerprint(work, given, in_queue, rank, waits_for, kinds_of_wait, at_ms,
                                                         wait_ms);
                        END IF;
                        IF known.fingerprint = print THEN
                            graph := known.graph;
                            first_job := known.first_job;
                            jobs := known.jobs;
                            is_new := false;
                            RETURN;
                        END IF;
                        PERFORM halyard.refuse(
                            'key-reused', halyard.worded(\(literal(EnqueueWords.keyReused)), with_key));
                    END IF;
                END IF;
                IF request.problem IS NOT NULL THEN PERFORM halyard.refuse(request.code, request.problem); END IF;
                IF jobs IS NULL THEN
                    jobs := (request.chosen).nodes;
                    -- The numbers may have no range of history yet (N2).
                    FOR turn IN 1..\(rangeTries) LOOP
                        first_job := halyard.numbers('halyard.job_number', jobs);
                        -- The size is read only for its side effect, as in range_end; an insert that is the transaction's
                        -- first one has the same effect.
                        EXIT WHEN jobs = 1
                            AND (pg_current_xact_id_if_assigned() IS NULL
                                 OR pg_relation_size('halyard.schema_version') >= 0)
                            AND first_job < (SELECT max(range.below) FROM halyard.range WHERE range.is_published);
                        EXIT WHEN first_job + jobs <= halyard.range_end(
                            first_job, jobs, \(PostgresStoreOptions.usualRangeJobs));
                    END LOOP;
                    IF (request.chosen).is_graph THEN graph := halyard.numbers('halyard.graph_number', 1); END IF;
                END IF;
                EXIT WHEN with_key IS NULL;
                print := coalesce(print, halyard.fingerprint(work, given, in_queue, rank, waits_for, kinds_of_wait,
                                                             at_ms, wait_ms));
                INSERT INTO halyard.idempotency (key, fingerprint, graph, first_job, jobs)
                VALUES (with_key, print, accept.graph, accept.first_job, accept.jobs)
                ON CONFLICT (key) DO NOTHING;
                IF FOUND THEN
                    -- A request with the same key waits for this transaction.
                    PERFORM halyard.limit_idle_time();
                    EXIT;
                END IF;
                -- Another transaction has just committed the key: look at it again.
                IF look = 10 THEN
                    RAISE EXCEPTION 'a key was just removed' USING ERRCODE = 'serialization_failure';
                END IF;
            END LOOP;

            -- An unknown home is refused before an unknown job.
            FOREACH given_input IN ARRAY coalesce(request.inputs, '{}') LOOP own_home := halyard.home_in(given_input); END LOOP;
            IF cardinality(waits_for) > 0 THEN
                outcomes := halyard.lock_existing(waits_for);
                -- The end of an attempt, or a prune, waits for a caller that has locked the job.
                PERFORM halyard.limit_idle_time();
                kept_home := halyard.home_of_results(waits_for, outcomes);
                FOR place IN 1..cardinality(waits_for) LOOP
                    -- A job that came after this request has taken its number is not older.
                    IF NOT outcomes ? waits_for[place]::text OR waits_for[place] >= accept.first_job THEN
                        PERFORM halyard.refuse('not-found', halyard.worded(
                            \(literal(EnqueueWords.unknownDependency)), waits_for[place]::text));
                    END IF;
                    IF outcomes ->> waits_for[place]::text IS NULL THEN
                        root_pending := root_pending + 1;
                        root_state := least(root_state, \(JobState.blocked.rawValue));
                    ELSIF kinds_of_wait[place] = 0
                        AND (outcomes ->> waits_for[place]::text)::bigint <> \(Outcome.succeeded.rawValue) THEN
                        root_pending := root_pending + 1;
                        cause := coalesce(cause, waits_for[place]);
                    END IF;
                END LOOP;
            END IF;

            now_ms := extract(epoch FROM clock_timestamp()) * 1000;
            root_due := coalesce(at_ms, now_ms + wait_ms);
            root_steady := now_ms + wait_ms;
            IF cause IS NOT NULL THEN
                root_state := \(JobState.skipped.rawValue);
            ELSIF root_pending = 0 THEN
                IF root_due > now_ms THEN
                    root_state := \(JobState.scheduled.rawValue);
                ELSE
                    root_state := \(JobState.ready.rawValue);
                    root_due := now_ms;
                    root_steady := now_ms;
                END IF;
            END IF;
            IF cause IS NOT NULL AND (request.chosen).is_graph THEN
                SELECT *
                INTO   states, pendings, causes
                FROM   halyard.skips((request.chosen).id, root_pending);
            END IF;
            IF (request.chosen).is_graph THEN
                INSERT INTO halyard.graph (id, name, enqueued_ms, first_job, jobs)
                VALUES (accept.graph, work, now_ms, accept.first_job, accept.jobs);
            END IF;
            IF cause IS NOT NULL OR (request.chosen).is_graph OR cardinality(waits_for) > 0 THEN
                PERFORM halyard.insert_jobs(
                    (request.chosen).id, jobs, in_queue, rank, request.positions, request.inputs, graph, first_job,
                    root_state, root_pending, root_due, root_steady, states, pendings, waits_for, kinds_of_wait, kept_home,
                    now_ms);
            ELSE
                SELECT    queue.id, lane.id
                INTO      queue_id, lane_id
                FROM      halyard.queue
                LEFT JOIN halyard.lane ON lane.queue = queue.id
                                       AND lane.priority = coalesce(rank, (request.root).priority)
                                       AND lane.kind = (request.root).kind
                                       AND lane.class = \(LaneClass.fresh.rawValue)
                                       AND lane.home IS NULL
                WHERE     queue.name = coalesce(in_queue, (request.root).queue)
                AND       queue.removed_ms IS NULL;
                IF lane_id IS NULL OR own_home IS NOT NULL THEN
                    lane_id := halyard.lane_of(
                        queue_id, coalesce(rank, (request.root).priority), (request.root).kind, own_home);
                END IF;
                INSERT INTO halyard.job (id, lane, definition, dependencies, enqueued_ms, input)
                VALUES (accept.first_job, lane_id, (request.root).definition, 0, now_ms, request.inputs[1]);
                IF root_state = \(JobState.ready.rawValue) THEN
                    INSERT INTO halyard.ready (job, lane, attempt, tries, rescues, due_ms, steady_ms, txid)
                    VALUES (accept.first_job, lane_id, 0, 0, 0, now_ms, now_ms, pg_current_xact_id()::text::bigint);
                ELSE
                    INSERT INTO halyard.scheduled (job, lane, attempt, tries, rescues, due_ms, steady_ms)
                    VALUES (accept.first_job, lane_id, 0, 0, 0, root_due, root_steady);
                END IF;
                INSERT INTO halyard.tally_change (subject, txid, at_ms, blocked, scheduled, ready, running, succeeded,
                                                  failed, cancelled, skipped)
                VALUES (-queue_id, \(Migration.countedTransaction), now_ms, 0,
                        (root_state = \(JobState.scheduled.rawValue))::integer,
                        (root_state = \(JobState.ready.rawValue))::integer, 0, 0, 0, 0, 0);
            END IF;

            IF cause IS NOT NULL THEN
                SELECT CASE WHEN (outcomes ->> cause::text)::bigint = \(Outcome.skipped.rawValue)
                            THEN done.detail::jsonb
                            ELSE jsonb_build_object(
                                'job', cause, 'name', coalesce(job.node, definition.name),
                                'outcome', \(outcomeName("(outcomes ->> cause::text)::bigint"))) END
                INTO   first_cause
                FROM   halyard.job
                JOIN   halyard.definition ON definition.id = job.definition
                LEFT JOIN halyard.done ON done.job = job.id
                WHERE  job.id = cause;
                PERFORM halyard.skip(
                    accept.first_job + node.position, coalesce(pendings[node.position + 1], root_pending),
                    CASE WHEN cardinality(node.after) = 0 THEN root_due END, now_ms,
                    CASE WHEN cardinality(node.after) = 0 THEN cause
                         ELSE accept.first_job + causes[node.position + 1] END,
                    CASE WHEN cardinality(node.after) = 0
                         THEN (SELECT coalesce(job.node, definition.name) FROM halyard.job
                               JOIN halyard.definition ON definition.id = job.definition WHERE job.id = cause)
                         ELSE (SELECT other.node FROM halyard.plan_node AS other
                               WHERE other.plan = node.plan AND other.position = causes[node.position + 1]) END,
                    CASE WHEN cardinality(node.after) = 0 THEN (outcomes ->> cause::text)::bigint
                         ELSE \(Outcome.skipped.rawValue) END,
                    first_cause)
                FROM halyard.plan_node AS node
                WHERE node.plan = (request.chosen).id
                AND   (states IS NULL OR states[node.position + 1] = \(JobState.skipped.rawValue));
            END IF;
            is_new := true;
            count := nextval('halyard.enqueue_call');
            -- A transaction with one snapshot for all its statements would not see that a daemon has fallen asleep (E4).
            IF EXISTS (SELECT 1 FROM halyard.listener WHERE asleep)
               OR current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
                PERFORM pg_notify('halyard', '\(Notice.work)');
            END IF;
        END $$;
        """

    private static func outcomeName(_ number: String) -> String {
        "CASE \(number) " + Outcome.allCases.map { "WHEN \($0.rawValue) THEN '\($0.name)'" }.joined(separator: " ")
            + " END"
    }

    static let lanes = """
        -- The number of the lane of new jobs, which is created if it is new.
        CREATE OR REPLACE FUNCTION halyard.lane_of(in_queue bigint, of_priority bigint, of_kind text, of_home text)
        RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            number bigint;
        BEGIN
            FOR look IN 1..2 LOOP
                SELECT id
                INTO   number
                FROM   halyard.lane
                WHERE  queue = in_queue AND priority = of_priority AND kind = of_kind
                AND    class = \(LaneClass.fresh.rawValue) AND home IS NOT DISTINCT FROM of_home;
                IF number IS NOT NULL THEN RETURN number; END IF;
                INSERT INTO halyard.lane (queue, priority, kind, class, home)
                VALUES (in_queue, of_priority, of_kind, \(LaneClass.fresh.rawValue), of_home)
                ON CONFLICT DO NOTHING
                RETURNING id INTO number;
                IF number IS NOT NULL THEN
                    -- Another transaction that needs the same new lane waits for this one.
                    PERFORM halyard.limit_idle_time();
                    RETURN number;
                END IF;
            END LOOP;
            RAISE EXCEPTION 'a lane was neither created nor found' USING ERRCODE = 'serialization_failure';
        END $$;

        -- The states of a graph's jobs if those without dependencies are skipped: a job is skipped if it waits for a
        -- skipped one to succeed. causes are the positions of these dependencies.
        CREATE OR REPLACE FUNCTION halyard.skips(
            of_plan bigint, root_pending bigint, OUT states bigint[], OUT pendings bigint[], OUT causes bigint[])
        LANGUAGE sql STABLE AS $$
            WITH RECURSIVE edge AS MATERIALIZED (
                SELECT node.position AS dependent, list.place, list.dependency, list.condition
                FROM   halyard.plan_node AS node,
                       unnest(node.after, node.conditions) WITH ORDINALITY AS list (dependency, condition, place)
                WHERE  node.plan = of_plan
            ), skipped AS (
                SELECT node.position FROM halyard.plan_node AS node
                WHERE  node.plan = of_plan AND cardinality(node.after) = 0
                UNION
                SELECT edge.dependent FROM skipped JOIN edge ON edge.dependency = skipped.position AND edge.condition = 0
            ), decided AS (
                SELECT    node.position, node.after, skipped.position IS NOT NULL AS is_skipped,
                          (SELECT count(*) FROM edge
                           WHERE edge.dependent = node.position
                           AND NOT (edge.condition = 1
                                    AND edge.dependency IN (SELECT position FROM skipped))) AS pending,
                          (SELECT edge.dependency FROM edge
                           WHERE edge.dependent = node.position AND edge.condition = 0
                           AND edge.dependency IN (SELECT position FROM skipped)
                           ORDER BY edge.place LIMIT 1) AS cause
                FROM      halyard.plan_node AS node
                LEFT JOIN skipped ON skipped.position = node.position
                WHERE     node.plan = of_plan
            )
            SELECT array_agg(CASE WHEN is_skipped THEN \(JobState.skipped.rawValue)
                                  WHEN pending > 0 THEN \(JobState.blocked.rawValue)
                                  ELSE \(JobState.ready.rawValue) END::bigint ORDER BY position),
                   array_agg(CASE WHEN cardinality(after) = 0 THEN root_pending ELSE pending END ORDER BY position),
                   array_agg(cause ORDER BY position)
            FROM   decided
        $$;
        """

    private static let parameters = """
        definition text, input jsonb DEFAULT NULL, key text DEFAULT NULL, queue text DEFAULT NULL,
            priority text DEFAULT NULL, at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
            after bigint[] DEFAULT NULL, after_finished bigint[] DEFAULT NULL
        """
    private static let settings = """
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
        SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET max_parallel_workers_per_gather = 0
        """

    /// The functions that `halyard_enqueuer` may call.
    static let entries = """
        -- Enqueues a definition or a graph definition. Returns the number of the job; for a graph, that of its first job.
        CREATE OR REPLACE FUNCTION halyard.enqueue(
            \(parameters))
        RETURNS bigint LANGUAGE plpgsql
        \(settings) AS $$
        BEGIN
            RETURN (halyard.accept(definition, input, key, queue, priority, at, delay, after, after_finished)).first_job;
        END $$;

        -- Enqueues as halyard.enqueue, and returns the numbers of the graph and of the jobs, and whether they are new.
        CREATE OR REPLACE FUNCTION halyard.enqueue_graph(
            \(parameters),
            OUT graph bigint, OUT first_job bigint, OUT jobs bigint, OUT is_new boolean)
        LANGUAGE plpgsql
        \(settings) AS $$
        BEGIN
            SELECT *
            INTO   graph, first_job, jobs, is_new
            FROM   halyard.accept(definition, input, key, queue, priority, at, delay, after, after_finished);
        END $$;
        """
}
