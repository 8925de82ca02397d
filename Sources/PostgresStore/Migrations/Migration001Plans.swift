extension Migration {
    /// Plans are what definitions and graph definitions compile to (`CompiledPlan` in `Jobs`), so that the function
    /// `halyard.enqueue` needs neither a catalog nor a daemon.
    ///
    /// - E1: A plan never changes. A new one replaces it in the transaction that changes the definitions, kinds or queues
    ///   that it is compiled from, and it stays for an hour for the calls that are using it.
    static let plans = """
        CREATE TABLE halyard.plan (
            id          bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            name        text NOT NULL,
            digest      bytea NOT NULL,
            refusal     text,
            is_graph    boolean,
            nodes       bigint,
            parameters  jsonb,
            fields      jsonb,
            field_names text[],
            is_open     boolean,
            accepts     text,
            offers      text,
            program     jsonb,
            replaced_ms bigint
        );
        CREATE UNIQUE INDEX plan_current ON halyard.plan (name) WHERE replaced_ms IS NULL;

        -- The jobs of a plan. The one of a definition has no name.
        CREATE TABLE halyard.plan_node (
            plan          bigint NOT NULL,
            position      bigint NOT NULL,
            node          text,
            definition    bigint NOT NULL,
            source        text NOT NULL,
            kind          text NOT NULL,
            queue         text NOT NULL,
            priority      bigint NOT NULL,
            input         text,
            after         bigint[] NOT NULL,
            conditions    bigint[] NOT NULL,
            label         text NOT NULL,
            own           text[] NOT NULL,
            missing       jsonb NOT NULL,
            is_incomplete boolean NOT NULL,
            PRIMARY KEY (plan, position)
        );

        -- Counts the calls of halyard.enqueue, so that an awake daemon notices them without a notification.
        CREATE SEQUENCE halyard.enqueue_call;

        -- Whether the store needs a notification when a program enqueues jobs by itself.
        ALTER TABLE halyard.listener ADD COLUMN asleep boolean NOT NULL DEFAULT true;

        -- Replaces the plans that differ, and removes those that were replaced long ago (E1).
        CREATE FUNCTION halyard.write_plans(names text[], bodies text[], kinds text[], kind_names text[],
                                            kind_bodies text[], now_ms bigint)
        RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            entry record;
            number bigint;
        BEGIN
            DELETE FROM halyard.plan_node
            USING  halyard.plan
            WHERE  plan.id = plan_node.plan AND plan.replaced_ms < now_ms - 3600000;
            DELETE FROM halyard.plan WHERE replaced_ms < now_ms - 3600000;
            UPDATE halyard.plan SET replaced_ms = now_ms WHERE replaced_ms IS NULL AND NOT name = ANY (names);
            FOR entry IN
                SELECT    wanted.name, coalesce(kind.body::jsonb, '{}') || wanted.body::jsonb AS body, hash.digest
                FROM      unnest(names, bodies, kinds) AS wanted (name, body, kind)
                LEFT JOIN unnest(kind_names, kind_bodies) AS kind (name, body) ON kind.name = wanted.kind
                LEFT JOIN halyard.plan ON plan.name = wanted.name AND plan.replaced_ms IS NULL,
                LATERAL   (SELECT sha256(convert_to(wanted.body, 'UTF8') || sha256(convert_to(kind.body, 'UTF8')))
                           AS digest) AS joined,
                LATERAL   (SELECT coalesce(joined.digest, sha256(convert_to(wanted.body, 'UTF8'))) AS digest) AS hash
                WHERE     plan.digest IS DISTINCT FROM hash.digest
            LOOP
                UPDATE halyard.plan SET replaced_ms = now_ms WHERE name = entry.name AND replaced_ms IS NULL;
                INSERT INTO halyard.plan (name, digest, refusal, is_graph, nodes, parameters, fields, field_names,
                                          is_open, accepts, offers, program)
                VALUES (entry.name, entry.digest, entry.body ->> 'refusal', (entry.body ->> 'is_graph')::boolean,
                        jsonb_array_length(entry.body -> 'nodes'), entry.body -> 'parameters', entry.body -> 'fields',
                        CASE WHEN entry.body ? 'field_names'
                             THEN ARRAY(SELECT jsonb_array_elements_text(entry.body -> 'field_names')) END,
                        (entry.body ->> 'is_open')::boolean, entry.body ->> 'accepts', entry.body ->> 'offers',
                        entry.body -> 'program')
                RETURNING id INTO number;
                INSERT INTO halyard.plan_node (plan, position, node, definition, source, kind, queue, priority, input,
                                               after, conditions, label, own, missing, is_incomplete)
                SELECT number, place - 1, node ->> 'node', (node ->> 'definition')::bigint, node ->> 'source',
                       node ->> 'kind', node ->> 'queue', (node ->> 'priority')::bigint, node ->> 'input',
                       ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(node -> 'after')),
                       ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(node -> 'conditions')),
                       node ->> 'label', ARRAY(SELECT jsonb_array_elements_text(node -> 'own')), node -> 'missing',
                       (node ->> 'is_incomplete')::boolean
                FROM   jsonb_array_elements(entry.body -> 'nodes') WITH ORDINALITY AS list (node, place);
            END LOOP;
        END $$;
        """
}
