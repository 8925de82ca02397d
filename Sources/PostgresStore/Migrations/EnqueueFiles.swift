import Jobs

/// The checks of files and of program arguments for `halyard.enqueue`. They give the same answers as `SpooledFile`,
/// `Homes` and `ProgramDefinition`.
extension Migration {
    static let enqueueFiles = [homes, programs]

    /// A name in the spool: a time and a secret, in base 36.
    private static let name = "[0-9A-Za-z]{1,13}-[0-9A-Za-z]{1,25}"

    private static let homes = """
        -- The identity of a daemon, from its number in base 36; NULL if the number is too large.
        CREATE OR REPLACE FUNCTION halyard.identity_of(digits text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            number numeric := 0;
            identity text := '';
        BEGIN
            IF digits IS NULL THEN RETURN NULL; END IF;
            FOR place IN 1..length(digits) LOOP
                number := number * 36
                    + strpos('0123456789abcdefghijklmnopqrstuvwxyz', lower(substr(digits, place, 1))) - 1;
            END LOOP;
            IF number >= 340282366920938463463374607431768211456 THEN RETURN NULL; END IF;
            FOR place IN 1..32 LOOP
                identity := substr('0123456789abcdef', mod(number, 16)::integer + 1, 1) || identity;
                number := div(number, 16);
            END LOOP;
            RETURN identity;
        END $$;

        -- The daemons that keep the files which the fields of an input name.
        CREATE OR REPLACE FUNCTION halyard.homes_in(input text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            IF coalesce(strpos(input, '"\(SpooledFile.prefix)'), 0) = 0 OR json_typeof(input::json) <> 'object' THEN
                RETURN '{}';
            END IF;
            RETURN ARRAY(SELECT DISTINCT named.identity
                         FROM   jsonb_each(input::jsonb) AS field,
                                regexp_match(field.value #>> '{}',
                                             '^\(SpooledFile.prefix)\(name)-[0-9A-Za-z]{1,25}-([0-9A-Za-z]{1,25})(/|$)') AS part,
                                halyard.identity_of(part[1]) AS named (identity)
                         WHERE  jsonb_typeof(field.value) = 'string'
                         AND    named.identity IS NOT NULL);
        END $$;

        -- The only daemon that can run a job with this input; NULL if every daemon can.
        CREATE OR REPLACE FUNCTION halyard.home_in(input text) RETURNS text LANGUAGE plpgsql STABLE AS $$
        DECLARE
            homes text[] := halyard.homes_in(input);
        BEGIN
            IF cardinality(homes) = 0 THEN RETURN NULL; END IF;
            IF NOT EXISTS (SELECT 1 FROM halyard.daemon WHERE daemon.identity = homes[1]) THEN
                PERFORM halyard.refuse('invalid-input', \(literal(EnqueueWords.unknownHome)));
            END IF;
            RETURN homes[1];
        END $$;

        -- The daemon that keeps the result file of the first of these jobs that has one.
        CREATE OR REPLACE FUNCTION halyard.home_of_results(jobs bigint[], outcomes jsonb)
        RETURNS text LANGUAGE sql STABLE AS $$
            SELECT   kept.home
            FROM     unnest(jobs) WITH ORDINALITY AS list (job, place)
            JOIN     halyard.kept ON kept.job = list.job
            WHERE    outcomes ->> list.job::text = '\(Outcome.succeeded.rawValue)'
            ORDER BY list.place
            LIMIT    1
        $$;

        -- Whether jobs of a kind may read the result files of their dependencies.
        CREATE OR REPLACE FUNCTION halyard.reads_files(of_kind text) RETURNS boolean LANGUAGE sql STABLE AS $$
            SELECT coalesce(bool_or(kind.accepts IS NOT NULL), true) FROM halyard.kind WHERE kind.name = of_kind
        $$;
        """

    private static let programs = """
        -- Why a program cannot run with an input (ProgramDefinition.arguments in Jobs); NULL if it can.
        CREATE OR REPLACE FUNCTION halyard.program_problem(program jsonb, given jsonb)
        RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            input jsonb := (program -> 'input') || CASE WHEN jsonb_typeof(given) = 'object' THEN given ELSE '{}' END;
            field jsonb;
            argument jsonb;
            piece jsonb;
            value jsonb;
            part text;
            texts text[];
            place bigint;
        BEGIN
            FOR field IN SELECT * FROM jsonb_array_elements(program -> 'fields') LOOP
                IF field ? 'default' AND coalesce(input -> (field ->> 'name'), 'null') = 'null' THEN
                    input := input || jsonb_build_object(field ->> 'name', field -> 'default');
                END IF;
            END LOOP;
            FOR field IN SELECT * FROM jsonb_array_elements(program -> 'fields') LOOP
                value := input -> (field ->> 'name');
                IF NOT field ? 'too_many' OR coalesce(jsonb_typeof(value), '') <> 'array' THEN CONTINUE; END IF;
                IF value = '[]' AND field ? 'empty' THEN RETURN field ->> 'empty'; END IF;
                IF jsonb_array_length(value) > \(EnqueueWords.maxStrings) THEN
                    RETURN halyard.worded(field ->> 'too_many', jsonb_array_length(value)::text);
                END IF;
                FOR value, place IN
                    SELECT list.value, list.place FROM jsonb_array_elements(value) WITH ORDINALITY AS list (value, place)
                LOOP
                    IF jsonb_typeof(value) <> 'string' THEN
                        RETURN halyard.worded(field ->> 'not_a_string', halyard.phrase(jsonb_typeof(value)), place::text);
                    END IF;
                    IF value #>> '{}' ~ '^\(SpooledFile.prefix)\(name)(-[0-9A-Za-z]{1,25}){0,2}(/|$)' THEN
                        RETURN halyard.worded(field ->> 'spooled', place::text);
                    END IF;
                END LOOP;
            END LOOP;
            FOR argument IN SELECT * FROM jsonb_array_elements(program -> 'arguments') LOOP
                IF argument ? 'list' THEN
                    value := input -> (argument ->> 'list');
                    IF coalesce(jsonb_typeof(value), '') <> 'array' THEN CONTINUE; END IF;
                    texts := ARRAY(SELECT list.element
                                   FROM   jsonb_array_elements_text(value) WITH ORDINALITY AS list (element, place)
                                   ORDER BY list.place);
                ELSE
                    part := '';
                    FOR piece IN SELECT * FROM jsonb_array_elements(argument -> 'pieces') LOOP
                        IF piece ? 'text' THEN
                            part := part || (piece ->> 'text');
                            CONTINUE;
                        END IF;
                        value := coalesce(input -> (piece ->> 'field'), 'null');
                        IF jsonb_typeof(value) IN ('object', 'array') THEN
                            RETURN halyard.worded(piece ->> 'wrong', halyard.phrase(jsonb_typeof(value)));
                        END IF;
                        -- NULL for an argument that is left out.
                        part := part || (value #>> '{}');
                        EXIT WHEN part IS NULL;
                    END LOOP;
                    texts := ARRAY[part];
                END IF;
                FOR place IN 1..cardinality(texts) LOOP
                    IF argument ? 'option' AND left(texts[place], 1) = '-' THEN
                        RETURN halyard.worded(argument ->> 'option', place::text);
                    END IF;
                    IF octet_length(texts[place]) > \(EnqueueWords.maxArgumentBytes) THEN
                        RETURN halyard.worded(argument ->> 'too_long', octet_length(texts[place])::text, place::text);
                    END IF;
                END LOOP;
            END LOOP;
            RETURN NULL;
        END $$;
        """
}
