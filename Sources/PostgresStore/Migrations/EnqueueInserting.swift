import Jobs

extension Migration {
    static let inserting = """
        -- Inserts the jobs of a plan (E3). states and pendings are NULL if all jobs without dependencies start in
        -- root_state, and the others are blocked.
        CREATE OR REPLACE FUNCTION halyard.insert_jobs(
            of_plan bigint, jobs bigint, in_queue text, rank bigint, positions bigint[], inputs text[], graph bigint,
            first_job bigint, root_state bigint, root_pending bigint, root_due bigint, root_steady bigint,
            states bigint[], pendings bigint[], waits_for bigint[], kinds_of_wait bigint[], kept_home text,
            now_ms bigint)
        RETURNS void LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            nodes text[];
            definitions bigint[];
            kinds text[];
            ranks bigint[];
            queues bigint[];
            lanes bigint[];
            edges bigint[];
            texts text[];
            blocked_or_root bigint[];
            waits bigint[];
            own_home text;
            own_txid bigint := pg_current_xact_id()::text::bigint;
        BEGIN
            SELECT array_agg(list.node), array_agg(list.definition), array_agg(list.kind), array_agg(list.rank),
                   array_agg(list.queue_id), array_agg(list.lane_id), array_agg(list.edges), array_agg(list.input),
                   array_agg(list.state), array_agg(list.pending)
            INTO   nodes, definitions, kinds, ranks, queues, lanes, edges, texts, blocked_or_root, waits
            FROM   (SELECT    plan_node.node, plan_node.definition, plan_node.kind, plan_node.input,
                              coalesce(insert_jobs.rank, plan_node.priority) AS rank, queue.id AS queue_id,
                              lane.id AS lane_id, cardinality(plan_node.after) AS edges,
                              CASE WHEN cardinality(plan_node.after) = 0 THEN root_state
                                   ELSE \(JobState.blocked.rawValue) END AS state,
                              CASE WHEN cardinality(plan_node.after) = 0 THEN root_pending
                                   ELSE cardinality(plan_node.after) END AS pending
                    FROM      halyard.plan_node
                    JOIN      halyard.queue ON queue.name = coalesce(in_queue, plan_node.queue)
                                            AND queue.removed_ms IS NULL
                    LEFT JOIN halyard.lane ON lane.queue = queue.id
                                           AND lane.priority = coalesce(insert_jobs.rank, plan_node.priority)
                                           AND lane.kind = plan_node.kind AND lane.class = \(LaneClass.fresh.rawValue)
                                           AND lane.home IS NULL
                    WHERE     plan_node.plan = of_plan
                    ORDER BY  plan_node.position) AS list;
            IF cardinality(nodes) IS DISTINCT FROM jobs THEN
                RAISE EXCEPTION 'only % of % jobs were planned', cardinality(nodes), jobs USING ERRCODE = 'internal_error';
            END IF;
            states := coalesce(states, blocked_or_root);
            pendings := coalesce(pendings, waits);
            FOR place IN 1..coalesce(cardinality(positions), 0) LOOP
                texts[positions[place] + 1] := inputs[place];
            END LOOP;
            IF kept_home IS NOT NULL OR array_position(lanes, NULL) IS NOT NULL
               OR strpos(array_to_string(texts, ' '), '"\(SpooledFile.prefix)') > 0 THEN
                FOR place IN 1..jobs LOOP
                    own_home := halyard.home_in(texts[place]);
                    IF own_home IS NULL AND kept_home IS NOT NULL AND edges[place] = 0
                       AND halyard.reads_files(kinds[place]) THEN
                        own_home := kept_home;
                    END IF;
                    IF lanes[place] IS NULL OR own_home IS NOT NULL THEN
                        lanes[place] := halyard.lane_of(queues[place], ranks[place], kinds[place], own_home);
                    END IF;
                END LOOP;
            END IF;

            INSERT INTO halyard.job (id, lane, definition, graph, node, dependencies, enqueued_ms, input)
            SELECT insert_jobs.first_job + new.place - 1, new.lane, new.definition, insert_jobs.graph, new.node,
                   new.edges + CASE WHEN new.edges = 0 THEN cardinality(waits_for) ELSE 0 END, now_ms, new.input
            FROM   unnest(lanes, definitions, nodes, edges, texts) WITH ORDINALITY
                   AS new (lane, definition, node, edges, input, place);
            IF insert_jobs.graph IS NOT NULL THEN
                INSERT INTO halyard.dependency (dependent, position, dependency, condition)
                SELECT insert_jobs.first_job + plan_node.position, edge.place - 1, insert_jobs.first_job + edge.other,
                       edge.condition
                FROM   halyard.plan_node,
                       unnest(plan_node.after, plan_node.conditions) WITH ORDINALITY AS edge (other, condition, place)
                WHERE  plan_node.plan = of_plan;
            END IF;
            IF cardinality(waits_for) > 0 THEN
                INSERT INTO halyard.dependency (dependent, position, dependency, condition)
                SELECT insert_jobs.first_job + root.place - 1, edge.place - 1, edge.other, edge.condition
                FROM   unnest(edges) WITH ORDINALITY AS root (edges, place),
                       unnest(waits_for, kinds_of_wait) WITH ORDINALITY AS edge (other, condition, place)
                WHERE  root.edges = 0;
            END IF;
            IF \(JobState.blocked.rawValue) = ANY (states) THEN
                INSERT INTO halyard.blocked (job, lane, graph, attempt, tries, rescues, due_ms, steady_ms, pending)
                SELECT insert_jobs.first_job + new.place - 1, new.lane, insert_jobs.graph, 0, 0, 0,
                       CASE WHEN new.edges = 0 THEN root_due END, CASE WHEN new.edges = 0 THEN root_steady END,
                       new.pending
                FROM   unnest(lanes, edges, states, pendings) WITH ORDINALITY
                       AS new (lane, edges, state, pending, place)
                WHERE  new.state = \(JobState.blocked.rawValue);
            END IF;
            IF \(JobState.scheduled.rawValue) = ANY (states) THEN
                INSERT INTO halyard.scheduled (job, lane, graph, attempt, tries, rescues, due_ms, steady_ms)
                SELECT insert_jobs.first_job + new.place - 1, new.lane, insert_jobs.graph, 0, 0, 0, root_due, root_steady
                FROM   unnest(lanes, states) WITH ORDINALITY AS new (lane, state, place)
                WHERE  new.state = \(JobState.scheduled.rawValue);
            END IF;
            IF \(JobState.ready.rawValue) = ANY (states) THEN
                INSERT INTO halyard.ready (job, lane, graph, attempt, tries, rescues, due_ms, steady_ms, txid)
                SELECT insert_jobs.first_job + new.place - 1, new.lane, insert_jobs.graph, 0, 0, 0, now_ms, now_ms,
                       own_txid
                FROM   unnest(lanes, states) WITH ORDINALITY AS new (lane, state, place)
                WHERE  new.state = \(JobState.ready.rawValue);
            END IF;
            INSERT INTO halyard.tally_change (subject, txid, at_ms, blocked, scheduled, ready, running, succeeded,
                                              failed, cancelled, skipped)
            SELECT   counted.subject, \(Migration.countedTransaction), now_ms,
                     count(*) FILTER (WHERE counted.state = \(JobState.blocked.rawValue)),
                     count(*) FILTER (WHERE counted.state = \(JobState.scheduled.rawValue)),
                     count(*) FILTER (WHERE counted.state = \(JobState.ready.rawValue)), 0, 0, 0, 0,
                     count(*) FILTER (WHERE counted.state = \(JobState.skipped.rawValue))
            FROM     (SELECT -new.queue AS subject, new.state FROM unnest(queues, states) AS new (queue, state)
                      UNION ALL
                      SELECT insert_jobs.graph, new.state FROM unnest(states) AS new (state)
                      WHERE insert_jobs.graph IS NOT NULL) AS counted
            GROUP BY counted.subject;
        END $$;
        """
}
