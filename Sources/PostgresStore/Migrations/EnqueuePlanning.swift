import Jobs

/// How `halyard.enqueue` plans a request: as `Catalog.plan` in `Jobs`, in the same order, so that the first problem is the
/// same.
extension Migration {
    static let enqueuePlanning = [offers, nodeProblem, planning]

    private static let offers = """
        -- The jobs of a list, with the types that their kinds offer; NULL for a job or kind that is not known.
        CREATE OR REPLACE FUNCTION halyard.offers_of(jobs bigint[]) RETURNS TABLE (job bigint, offers text)
        LANGUAGE sql STABLE AS $$
            SELECT    wanted.job, kind.offers
            FROM      unnest(jobs) WITH ORDINALITY AS wanted (job, place)
            LEFT JOIN halyard.job ON job.id = wanted.job
            LEFT JOIN halyard.definition ON definition.id = job.definition
            LEFT JOIN LATERAL (SELECT   kind.offers
                               FROM     halyard.kind
                               WHERE    kind.name = definition.kind
                               ORDER BY kind.number DESC
                               LIMIT    1) AS kind ON true
            ORDER BY  wanted.place
        $$;

        -- Why a job cannot be enqueued if no existing job supplies the missing field; NULL if one may.
        CREATE OR REPLACE FUNCTION halyard.unfit_problem(unfit text, accepts text, after bigint[])
        RETURNS text LANGUAGE plpgsql STABLE AS $$
        DECLARE
            list text;
        BEGIN
            IF EXISTS (SELECT 1
                       FROM   halyard.offers_of(after) AS offer
                       WHERE  offer.offers IS NULL
                       OR     accepts IN (offer.offers, \(literal(KindDescription.anyOutput)),
                                          \(literal(KindDescription.anyOutputs)), '[' || offer.offers || ']')) THEN
                RETURN NULL;
            END IF;
            SELECT string_agg(halyard.worded(\(literal(EnqueueWords.offer)), offer.job::text, offer.offers), ', ')
            INTO   list
            FROM   (SELECT * FROM halyard.offers_of(after) LIMIT \(EnqueueWords.maxOffers)) AS offer;
            RETURN replace(unfit, \(literal(EnqueueWords.offer)), list);
        END $$;
        """

    private static let nodeProblem = """
        -- The first problem of a job's input; both parts are NULL if it has none. after are the existing jobs that it
        -- waits for.
        CREATE OR REPLACE FUNCTION halyard.input_problem(
            node halyard.plan_node, source halyard.plan, given jsonb, after bigint[], OUT problem text, OUT code text)
        LANGUAGE plpgsql STABLE AS $$
        DECLARE
            present text[] := node.own;
            name text;
            value jsonb;
            missing jsonb;
        BEGIN
            code := 'invalid-input';
            IF given IS NOT NULL AND NOT source.is_open THEN
                IF jsonb_typeof(given) <> 'object' THEN
                    problem := node.label || halyard.worded(\(literal(EnqueueWords.notAnObject)),
                                                            halyard.phrase(jsonb_typeof(given)));
                    RETURN;
                END IF;
                -- A field of the node's own input stays in its place.
                FOR name, value IN
                    SELECT   field.key, field.value
                    FROM     jsonb_each(given) WITH ORDINALITY AS field (key, value, place)
                    ORDER BY (SELECT own.place
                              FROM   json_object_keys(node.input::json) WITH ORDINALITY AS own (key, place)
                              WHERE  own.key = field.key) NULLS LAST, field.place
                LOOP
                    IF NOT source.fields ? name THEN
                        problem := node.label || halyard.unknown(
                            name, source.field_names, \(words(EnqueueWords.field)));
                        RETURN;
                    END IF;
                    problem := node.label || halyard.field_problem(source.fields -> name, value);
                    IF problem IS NOT NULL THEN RETURN; END IF;
                    present := CASE WHEN value = 'null' THEN array_remove(present, name) ELSE present || name END;
                END LOOP;
            END IF;
            FOR missing IN SELECT * FROM jsonb_array_elements(node.missing) LOOP
                IF missing ->> 'field' = ANY (present) THEN CONTINUE; END IF;
                problem := missing ->> 'problem';
                IF NOT missing ? 'is_bad_input' THEN code := 'invalid-request'; END IF;
                IF (missing -> 'is_fillable')::boolean AND cardinality(after) > 0 THEN
                    code := 'invalid-request';
                    problem := halyard.unfit_problem(missing ->> 'unfit', source.accepts, after);
                END IF;
                IF problem IS NOT NULL THEN RETURN; END IF;
                code := 'invalid-input';
            END LOOP;
            code := NULL;
        END $$;
        """

    /// The arguments of `halyard.unknown` after the known names.
    private static func words(_ unknown: EnqueueWords.Unknown) -> String {
        [unknown.plain, unknown.nearest, unknown.listed].map(literal).joined(separator: ", ")
    }

    private static let planning = """
        -- Plans a request. If it cannot be enqueued, problem and code say why.
        --
        -- chosen is the current plan. inputs are the inputs of the nodes that differ from those of the graph definition,
        -- by position; for a definition, the only one.
        CREATE OR REPLACE FUNCTION halyard.planned(
            work text, given jsonb, with_key text, in_queue text, wait_s numeric, after bigint[],
            OUT chosen halyard.plan, OUT root halyard.plan_node, OUT positions bigint[], OUT inputs text[], OUT problem text, OUT code text)
        LANGUAGE plpgsql STABLE AS $$
        #variable_conflict use_column
        DECLARE
            parts jsonb := '{}';
            target text[];
            name text;
            value jsonb;
            node halyard.plan_node;
            pair record;
            twice bigint;
            size bigint;
            first_problem text;
            code_of_first text;
            file_problem text;
            value_problem text;
        BEGIN
            code := 'invalid-request';
            IF wait_s < 0 OR wait_s > \(EnqueueWords.longestWaitMs) / 1000.0 THEN
                problem := \(literal(EnqueueWords.waitOutOfRange));
                RETURN;
            END IF;
            IF octet_length(with_key) NOT BETWEEN 1 AND \(EnqueueWords.maxNameBytes) THEN
                problem := halyard.worded(\(literal(EnqueueWords.badKey)), octet_length(with_key)::text);
                RETURN;
            END IF;
            IF with_key IS NOT NULL AND halyard.hidden(with_key) IS NOT NULL THEN
                problem := halyard.worded(\(literal(EnqueueWords.hiddenInKey)), halyard.hidden(with_key));
                RETURN;
            END IF;
            SELECT    current AS plan, first AS node
            INTO      pair
            FROM      halyard.plan AS current
            LEFT JOIN halyard.plan_node AS first ON first.plan = current.id AND first.position = 0
            WHERE     current.name = work AND current.replaced_ms IS NULL;
            chosen := pair.plan;
            root := pair.node;
            IF chosen.id IS NULL OR chosen.refusal IS NOT NULL THEN
                code := 'unknown-definition';
                problem := coalesce(chosen.refusal, halyard.unknown(
                    work,
                    ARRAY(SELECT plan.name FROM halyard.plan WHERE plan.replaced_ms IS NULL AND plan.refusal IS NULL
                          ORDER BY plan.name COLLATE "C"),
                    \(words(EnqueueWords.definition))));
                RETURN;
            END IF;
            IF chosen.is_graph AND given IS NOT NULL THEN
                code := 'invalid-input';
                IF jsonb_typeof(given) <> 'object' THEN
                    problem := halyard.worded(\(literal(EnqueueWords.notAnObject)),
                                              halyard.phrase(jsonb_typeof(given)));
                    RETURN;
                END IF;
                FOR name, value IN SELECT * FROM jsonb_each(given) LOOP
                    target := CASE WHEN chosen.parameters ? name
                                   THEN ARRAY[chosen.parameters -> name ->> 0, chosen.parameters -> name ->> 1]
                                   ELSE ARRAY[split_part(name, '.', 1), substr(name, strpos(name, '.') + 1)] END;
                    IF NOT chosen.parameters ? name AND (strpos(name, '.') = 0 OR NOT EXISTS (
                        SELECT 1
                        FROM   halyard.plan_node AS node
                        JOIN   halyard.plan AS origin ON origin.name = node.source AND origin.replaced_ms IS NULL
                        WHERE  node.plan = chosen.id AND node.node = target[1] AND origin.fields ? target[2]
                    )) THEN
                        problem := halyard.unknown(
                            name,
                            chosen.field_names
                                || ARRAY(SELECT   node.node || '.' || field.name
                                         FROM     halyard.plan_node AS node
                                         JOIN     halyard.plan AS origin
                                                  ON origin.name = node.source AND origin.replaced_ms IS NULL,
                                                  unnest(origin.field_names) WITH ORDINALITY AS field (name, place)
                                         WHERE    node.plan = chosen.id
                                         ORDER BY node.position, field.place),
                            \(words(EnqueueWords.parameter)), work);
                        RETURN;
                    END IF;
                    IF parts -> target[1] ? target[2] THEN
                        problem := halyard.worded(\(literal(EnqueueWords.givenTwice)),
                                                  target[1] || '.' || target[2]);
                        RETURN;
                    END IF;
                    parts := parts || jsonb_build_object(
                        target[1], coalesce(parts -> target[1], '{}') || jsonb_build_object(target[2], value));
                END LOOP;
            END IF;

            IF in_queue IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM halyard.queue WHERE queue.name = in_queue AND queue.removed_ms IS NULL
            ) THEN
                code := 'unknown-queue';
                problem := root.label || halyard.unknown(
                    in_queue,
                    ARRAY(SELECT queue.name FROM halyard.queue WHERE queue.removed_ms IS NULL
                          ORDER BY queue.name COLLATE "C"),
                    \(words(EnqueueWords.queue)));
                RETURN;
            END IF;

            -- Sizes, and edges that occur twice, job by job.
            IF cardinality(after) > 1 THEN
                SELECT   edge.job
                INTO     twice
                FROM     unnest(after) WITH ORDINALITY AS edge (job, place)
                WHERE    edge.job = ANY (after[1:edge.place - 1])
                ORDER BY edge.place
                LIMIT    1;
                IF twice IS NOT NULL AND chosen.is_graph THEN
                    SELECT   *
                    INTO     root
                    FROM     halyard.plan_node AS first
                    WHERE    first.plan = chosen.id AND cardinality(first.after) = 0
                    ORDER BY first.position
                    LIMIT    1;
                END IF;
            END IF;
            IF NOT chosen.is_graph THEN
                IF given IS NOT NULL THEN
                    positions := ARRAY[0];
                    inputs := ARRAY[given::text];
                END IF;
                -- A job without an input has no size.
                size := octet_length(inputs[1]);
                IF size > \(JSONText.maxBytes) THEN
                    code := 'invalid-input';
                    problem := root.label || halyard.worded(\(literal(EnqueueWords.tooLarge)), size::text);
                ELSIF twice IS NOT NULL THEN
                    code := 'invalid-request';
                    problem := halyard.worded(\(literal(EnqueueWords.dependsTwice)), 'job "' || work || '"', twice::text);
                ELSE
                    SELECT * INTO problem, code FROM halyard.input_problem(root, chosen, given, after);
                    IF problem IS NULL AND cardinality(halyard.homes_in(inputs[1])) > 1 THEN
                        code := 'invalid-input';
                        problem := \(literal(EnqueueWords.severalHomes));
                    ELSIF problem IS NULL AND chosen.program IS NOT NULL THEN
                        code := 'invalid-input';
                        problem := halyard.program_problem(chosen.program, given);
                    END IF;
                END IF;
                RETURN;
            END IF;
            -- Problems of inputs come after those of sizes.
            FOR pair IN
                SELECT   checked AS node, origin AS source
                FROM     halyard.plan_node AS checked
                JOIN     halyard.plan AS origin ON origin.name = checked.source AND origin.replaced_ms IS NULL
                WHERE    checked.plan = chosen.id
                AND      (checked.is_incomplete OR parts ? checked.node OR origin.program IS NOT NULL)
                ORDER BY checked.position
            LOOP
                node := pair.node;
                IF parts ? node.node THEN
                    positions := positions || node.position;
                    inputs := inputs || halyard.overlaid(node.input, parts -> node.node);
                    size := octet_length(inputs[cardinality(inputs)]);
                    IF size > \(JSONText.maxBytes) AND (twice IS NULL OR node.position <= root.position) THEN
                        code := 'invalid-input';
                        problem := node.label || halyard.worded(\(literal(EnqueueWords.tooLarge)), size::text);
                        RETURN;
                    END IF;
                    IF file_problem IS NULL AND cardinality(halyard.homes_in(inputs[cardinality(inputs)])) > 1 THEN
                        file_problem := \(literal(EnqueueWords.severalHomes));
                    END IF;
                END IF;
                IF value_problem IS NULL AND (pair.source).program IS NOT NULL THEN
                    value_problem := halyard.program_problem(
                        (pair.source).program,
                        coalesce(node.input::jsonb, '{}') || coalesce(parts -> node.node, '{}'));
                END IF;
                IF first_problem IS NULL THEN
                    SELECT *
                    INTO   first_problem, code_of_first
                    FROM   halyard.input_problem(node, pair.source, parts -> node.node,
                                                 CASE WHEN cardinality(node.after) = 0 THEN after END);
                END IF;
            END LOOP;
            IF twice IS NOT NULL THEN
                code := 'invalid-request';
                problem := halyard.worded(
                    \(literal(EnqueueWords.dependsTwice)),
                    halyard.worded(\(literal(EnqueueWords.node)), root.node), twice::text);
                RETURN;
            END IF;
            -- The socket asks for these after it has planned all jobs.
            problem := coalesce(first_problem, file_problem, value_problem);
            code := CASE WHEN first_problem IS NULL THEN 'invalid-input' ELSE code_of_first END;
        END $$;
        """
}
