extension Migration {
    /// The roles for other programs. They belong to the whole server, so a daemon that may not create roles grants their
    /// permissions only if a superuser has created them.
    static let permissions = """
        REVOKE ALL ON SCHEMA halyard FROM PUBLIC;
        REVOKE ALL ON ALL TABLES IN SCHEMA halyard FROM PUBLIC;
        REVOKE ALL ON ALL SEQUENCES IN SCHEMA halyard FROM PUBLIC;
        REVOKE ALL ON ALL FUNCTIONS IN SCHEMA halyard FROM PUBLIC;

        -- The views call these functions with the permissions of their reader.
        ALTER FUNCTION halyard.tally(bigint) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
        ALTER FUNCTION halyard.problem_of(text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
        ALTER FUNCTION halyard.home_of(bigint) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
        ALTER FUNCTION halyard.unserved(text, text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
        ALTER FUNCTION halyard.is_full_per_daemon(bigint, text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

        -- Grants the permissions of the roles that exist. A superuser who has created the roles calls it once.
        CREATE OR REPLACE FUNCTION halyard.grant_roles() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'halyard_enqueuer') THEN
                GRANT USAGE ON SCHEMA halyard TO halyard_enqueuer;
                GRANT EXECUTE ON FUNCTION
                    halyard.enqueue(text, jsonb, text, text, text, timestamptz, interval, bigint[], bigint[]),
                    halyard.enqueue_graph(text, jsonb, text, text, text, timestamptz, interval, bigint[], bigint[])
                TO halyard_enqueuer;
            END IF;
            IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'halyard_reader') THEN
                GRANT USAGE ON SCHEMA halyard TO halyard_reader;
                GRANT SELECT ON halyard.jobs, halyard.results, halyard.attempts, halyard.queues, halyard.graphs,
                                halyard.waiting, halyard.definitions, halyard.schedules, halyard.daemons
                TO halyard_reader;
                GRANT EXECUTE ON FUNCTION halyard.iso(bigint), halyard.tally(bigint), halyard.problem_of(text),
                                          halyard.home_of(bigint), halyard.is_full_per_daemon(bigint, text),
                                          halyard.unserved(text, text)
                TO halyard_reader;
            END IF;
        END $$;
        REVOKE ALL ON FUNCTION halyard.grant_roles() FROM PUBLIC;

        DO $$
        DECLARE
            role text;
        BEGIN
            FOREACH role IN ARRAY ARRAY['halyard_enqueuer', 'halyard_reader'] LOOP
                IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = role) THEN CONTINUE; END IF;
                IF NOT (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) THEN
                    RAISE NOTICE 'role % does not exist, and % may not create it', role, current_user;
                    CONTINUE;
                END IF;
                BEGIN
                    EXECUTE format('CREATE ROLE %I NOLOGIN', role);
                EXCEPTION WHEN duplicate_object OR unique_violation THEN
                    -- The migration of another database has just created it.
                    NULL;
                END;
            END LOOP;
            PERFORM halyard.grant_roles();
        END $$;
        """
}
