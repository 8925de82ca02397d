import Jobs

/// The checks of `halyard.enqueue`, in SQL. Their sentences are those of `Jobs`, with the parts put in for the markers of
/// `EnqueueWords`. Created again with the views, so that they use the words of the newest release.
extension Migration {
    static let enqueueChecks = [texts, names, values, fingerprints]

    /// The class of a character of regular expressions that matches hidden characters; U+0000 is in no text.
    private static let hidden: String = {
        func escape(_ value: UInt32) -> String {
            let digits = String(value, radix: 16)
            return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
        let ranges = HiddenCharacter.ranges.map { "\(escape(max($0.lowerBound, 1)))-\(escape($0.upperBound))" }
        return "'[\(ranges.joined())]'"
    }()

    private static let sortOfHidden: String = {
        let cases = HiddenCharacter.sorts.map { values, words in
            let tests = values.map { "code BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
            return "WHEN \(tests.joined(separator: " OR ")) THEN \(literal(words))"
        }
        return "CASE \(cases.joined(separator: " ")) ELSE \(literal(HiddenCharacter.otherSort)) END"
    }()

    private static let texts = """
        -- A clause as a sentence.
        CREATE OR REPLACE FUNCTION halyard.sentence(clause text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT upper(left(clause, 1)) || substr(clause, 2)
                   || CASE WHEN right(clause, 1) IN ('.', '?') THEN '' ELSE '.' END
        $$;

        -- Puts parts into a sentence for its markers. The last ones are put in first: only the first part comes from
        -- the caller, and may itself contain a marker.
        CREATE OR REPLACE FUNCTION halyard.worded(words text, first text, second text = '', third text = '')
        RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT replace(replace(replace(words, chr(3), coalesce(third, '')), chr(2), coalesce(second, '')), chr(1),
                           coalesce(first, ''))
        $$;

        CREATE OR REPLACE FUNCTION halyard.refuse(code text, problem text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING
                ERRCODE = CASE code WHEN 'unknown-definition' THEN 'JH001' WHEN 'invalid-input' THEN 'JH002'
                                    WHEN 'unknown-queue' THEN 'JH003' WHEN 'key-reused' THEN 'JH004'
                                    WHEN 'not-found' THEN 'JH005' ELSE 'JH006' END,
                MESSAGE = halyard.sentence(problem),
                DETAIL = code;
        END $$;

        -- The first hidden character of a text for people; NULL if there is none.
        CREATE OR REPLACE FUNCTION halyard.hidden(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            code bigint := ascii(substring(value FROM \(hidden)));
        BEGIN
            RETURN 'U+' || upper(lpad(to_hex(code), greatest(4, length(to_hex(code))), '0')) || ', ' || \(sortOfHidden);
        END $$;

        -- The beginning of a value for a message.
        CREATE OR REPLACE FUNCTION halyard.excerpt(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT regexp_replace(left(value, \(EnqueueWords.excerptLength)), \(hidden), U&'\\FFFD', 'g')
                   || CASE WHEN length(value) > \(EnqueueWords.excerptLength) THEN '…' ELSE '' END
        $$;
        """

    private static let names = """
        -- The number of changed, added, dropped or swapped bytes between two words, as NearestName.distance in Jobs; more
        -- than the bound if it is greater.
        CREATE OR REPLACE FUNCTION halyard.distance(a bytea, b bytea, bound integer)
        RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            m integer := length(a);
            n integer := length(b);
            before integer[];
            last integer[] := ARRAY(SELECT generate_series(0, n));
            line integer[];
            cost integer;
            smallest integer;
        BEGIN
            IF abs(m - n) > bound THEN RETURN bound + 1; END IF;
            FOR i IN 1..m LOOP
                line := array_fill(bound + 1, ARRAY[n + 1]);
                line[1] := i;
                smallest := i;
                -- A cell further from the diagonal is greater than the bound.
                FOR j IN greatest(1, i - bound)..least(n, i + bound) LOOP
                    cost := least(last[j] + CASE WHEN get_byte(a, i - 1) = get_byte(b, j - 1) THEN 0 ELSE 1 END,
                                  last[j + 1] + 1, line[j] + 1);
                    IF i > 1 AND j > 1 AND get_byte(a, i - 1) = get_byte(b, j - 2)
                       AND get_byte(a, i - 2) = get_byte(b, j - 1) THEN
                        cost := least(cost, before[j - 1] + 1);
                    END IF;
                    line[j + 1] := cost;
                    smallest := least(smallest, cost);
                END LOOP;
                IF smallest > bound THEN RETURN bound + 1; END IF;
                before := last;
                last := line;
            END LOOP;
            RETURN last[n + 1];
        END $$;

        -- The sentence about an unknown name: one with the nearest known one, one that lists the known ones, or neither.
        CREATE OR REPLACE FUNCTION halyard.unknown(name text, known text[], plain text, nearest text, listed text,
                                                   subject text = NULL)
        RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            word bytea := convert_to(lower(name), 'UTF8');
            other bytea;
            candidate text;
            best text;
            best_distance integer := 3;
            bound integer;
            found integer;
        BEGIN
            IF length(word) <= 128 THEN
                FOREACH candidate IN ARRAY known LOOP
                    other := convert_to(lower(candidate), 'UTF8');
                    bound := least(best_distance, greatest(1, greatest(length(word), length(other)) / 3));
                    IF abs(length(word) - length(other)) > bound THEN CONTINUE; END IF;
                    found := halyard.distance(word, other, bound);
                    IF found <= bound AND (best IS NULL OR found < best_distance
                                           OR (found = best_distance AND candidate COLLATE "C" < best COLLATE "C")) THEN
                        best := candidate;
                        best_distance := found;
                    END IF;
                END LOOP;
            END IF;
            IF best IS NOT NULL THEN RETURN halyard.worded(nearest, name, best, subject); END IF;
            IF cardinality(known) BETWEEN 1 AND 20 THEN
                RETURN halyard.worded(
                    listed, name,
                    (SELECT string_agg(other_name, ', ' ORDER BY other_name COLLATE "C")
                     FROM   unnest(known) AS other_name), subject);
            END IF;
            RETURN halyard.worded(plain, name, NULL, subject);
        END $$;
        """

    private static let phrases =
        "CASE found "
        + EnqueueWords.phrases.map { "WHEN '\($0.name)' THEN \(literal($0.phrase))" }.joined(separator: " ")
        + " END"

    private static let values = """
        -- The JSON type of a value as messages call it.
        CREATE OR REPLACE FUNCTION halyard.phrase(found text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT \(phrases)
        $$;

        -- A number as a whole number; NULL if it is not one, or does not fit. One that is not written with digits alone
        -- is read as a double.
        CREATE OR REPLACE FUNCTION halyard.whole(number text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            exact numeric := number::numeric;
            near double precision;
        BEGIN
            IF abs(exact) > 9223372036854775808 THEN RETURN NULL; END IF;
            IF number ~ '^-?[0-9]+$' THEN
                IF exact <= 9223372036854775807 THEN RETURN exact; END IF;
                RETURN NULL;
            END IF;
            near := CASE WHEN abs(exact) < 1e-300 THEN 0 ELSE number::double precision END;
            IF near <> trunc(near) OR near >= 9223372036854775808 THEN RETURN NULL; END IF;
            RETURN near::bigint;
        END $$;

        -- A size such as 64MiB in bytes; NULL if it is not one.
        CREATE OR REPLACE FUNCTION halyard.bytes(size text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            parts text[] := regexp_match(size, '^([+-]?[0-9]+) *(TiB|GiB|MiB|KiB|B)$');
            count numeric := parts[1]::numeric;
        BEGIN
            count := CASE WHEN count BETWEEN 0 AND 9223372036854775807 THEN count END
                * CASE parts[2] WHEN 'TiB' THEN 1099511627776 WHEN 'GiB' THEN 1073741824 WHEN 'MiB' THEN 1048576
                                WHEN 'KiB' THEN 1024 ELSE 1 END;
            RETURN CASE WHEN count <= 9223372036854775807 THEN count END;
        END $$;

        -- A duration such as 1h30m in milliseconds; NULL if it is not one.
        CREATE OR REPLACE FUNCTION halyard.milliseconds(duration text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            total numeric;
        BEGIN
            IF duration !~ '^([0-9]+(ms|s|m|h|d))+$' THEN RETURN NULL; END IF;
            SELECT sum(part[1]::numeric * CASE part[2] WHEN 'd' THEN 86400000 WHEN 'h' THEN 3600000 WHEN 'm' THEN 60000
                                                       WHEN 's' THEN 1000 ELSE 1 END)
            INTO   total
            FROM   regexp_matches(duration, '([0-9]+)(ms|s|m|h|d)', 'g') AS part;
            RETURN CASE WHEN total <= 9223372036854775807 THEN total END;
        END $$;

        -- Why a field does not accept a value; NULL if it does. NULL in JSON counts as absent.
        CREATE OR REPLACE FUNCTION halyard.field_problem(field jsonb, value jsonb)
        RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            shape text := field ->> 'shape';
            found text := jsonb_typeof(value);
            word text;
            number numeric;
            start integer;
        BEGIN
            IF found = 'null' THEN RETURN NULL; END IF;
            IF found <> field ->> 'type' AND NOT (shape = 'size' AND found = 'number') THEN
                RETURN halyard.worded(field ->> 'wrong', halyard.phrase(found));
            END IF;
            IF shape IN ('integer', 'size', 'duration') THEN
                word := value #>> '{}';
                IF shape = 'duration' THEN
                    number := halyard.milliseconds(word);
                ELSIF found = 'string' THEN
                    number := halyard.bytes(word);
                ELSE
                    number := halyard.whole(word);
                    IF number IS NULL THEN
                        RETURN halyard.worded(
                            field ->> 'wrong',
                            CASE WHEN shape = 'integer' THEN \(literal(EnqueueWords.anotherNumber))
                                 ELSE halyard.phrase(found) END);
                    END IF;
                    word := number::text;
                END IF;
                IF number IS NULL OR number < (field ->> 'min')::numeric OR number > (field ->> 'max')::numeric THEN
                    RETURN halyard.worded(field ->> 'out_of_range', halyard.excerpt(word));
                END IF;
            ELSIF shape = 'string' AND (field ? 'choices' OR field ? 'schemes') THEN
                word := value #>> '{}';
                IF NOT coalesce(field -> 'choices' ? word, true) THEN RETURN field ->> 'not_a_choice'; END IF;
                IF field ? 'schemes' THEN
                    word := regexp_replace(word, '[\\x01-\\x20]', '', 'g');
                    start := strpos(word, ':');
                    IF start = 0 OR ltrim(substr(word, start + 1), '/\\') = ''
                       OR NOT field -> 'schemes' ? lower(left(word, start - 1)) THEN
                        RETURN field ->> 'not_an_address';
                    END IF;
                END IF;
            END IF;
            RETURN NULL;
        END $$;

        -- Whether values are nested deeper than the limit. Replaces each value by a pair of brackets, and then removes
        -- one level after the other, beginning with the innermost.
        CREATE OR REPLACE FUNCTION halyard.is_too_deep(value jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            rest text := value::text;
        BEGIN
            IF coalesce(length(rest) - length(translate(rest, '{[', '')), 0) < \(EnqueueWords.maxDepth) THEN RETURN false; END IF;
            rest := regexp_replace(rest, '"([^"\\\\]|\\\\.)*"', '0', 'g');
            rest := regexp_replace(rest, '[^][{},: ]+', '()', 'g');
            rest := translate(rest, '{[}],: ', '(())');
            FOR level IN 0..\(EnqueueWords.maxDepth) LOOP
                rest := replace(rest, '()', '');
                IF rest = '' THEN RETURN false; END IF;
            END LOOP;
            RETURN true;
        END $$;
        """

    private static let fingerprints = """
        -- A text in JSON as Jobs writes it: \\b and \\f have no short form.
        CREATE OR REPLACE FUNCTION halyard.quoted(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            IF value !~ '[\\x08\\x0c]' THEN RETURN to_json(value)::text; END IF;
            RETURN '"' || (
                SELECT string_agg(coalesce((
                           SELECT string_agg(substr(to_json(inner_part)::text, 2, length(to_json(inner_part)::text) - 2),
                                             '\\u000c' ORDER BY inner_place)
                           FROM   string_to_table(part, chr(12)) WITH ORDINALITY AS inner_list (inner_part, inner_place)
                       ), ''), '\\u0008' ORDER BY place)
                FROM   string_to_table(value, chr(8)) WITH ORDINALITY AS list (part, place)) || '"';
        END $$;

        -- An object whose fields are replaced or extended by others, as JSONObject.overlaid in Jobs writes it.
        CREATE OR REPLACE FUNCTION halyard.overlaid(own text, given jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT '{' || string_agg(halyard.quoted(field.key) || ':' || field.value, ',' ORDER BY field.place) || '}'
            FROM   (SELECT old.key, coalesce((given -> old.key)::text, old.value::text) AS value, old.place
                    FROM   json_each(coalesce(own, '{}')::json) WITH ORDINALITY AS old (key, value, place)
                    UNION ALL
                    SELECT new.key, new.value::text, 1000000 + new.place
                    FROM   jsonb_each(given) WITH ORDINALITY AS new (key, value, place)
                    WHERE  NOT coalesce(own, '{}')::jsonb ? new.key) AS field
        $$;

        -- The canonical form of JSON (JSONText.canonical in Jobs).
        CREATE OR REPLACE FUNCTION halyard.canonical(value jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            CASE jsonb_typeof(value)
            WHEN 'object' THEN
                RETURN '{' || coalesce((
                    SELECT string_agg(halyard.quoted(entry.key) || ':' || halyard.canonical(entry.value), ','
                                      ORDER BY entry.key COLLATE "C")
                    FROM   jsonb_each(value) AS entry), '') || '}';
            WHEN 'array' THEN
                RETURN '[' || coalesce((
                    SELECT string_agg(halyard.canonical(entry.value), ',' ORDER BY entry.place)
                    FROM   jsonb_array_elements(value) WITH ORDINALITY AS entry (value, place)), '') || ']';
            WHEN 'string' THEN RETURN halyard.quoted(value #>> '{}');
            ELSE RETURN value::text;
            END CASE;
        END $$;

        -- The fingerprint of a request (Submission.fingerprint in Jobs).
        CREATE OR REPLACE FUNCTION halyard.fingerprint(definition text, input jsonb, queue text, priority bigint,
                                                       after bigint[], conditions bigint[], at_ms bigint, wait_ms bigint)
        RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            request text := '{"definition":' || halyard.quoted(definition)
                || coalesce(',"input":' || halyard.canonical(input), '')
                || coalesce(',"queue":' || halyard.quoted(queue), '')
                || coalesce(',"priority":' || priority, '')
                || coalesce(',"after":[' || (
                       SELECT string_agg('[' || edge.job || ',' || edge.condition || ']', ',' ORDER BY edge.place)
                       FROM   unnest(after, conditions) WITH ORDINALITY AS edge (job, condition, place)) || ']', '')
                || coalesce(',"at":' || at_ms, '') || coalesce(',"in_ms":' || wait_ms, '') || '}';
        BEGIN
            RETURN ('x' || encode(substr(sha256(convert_to(request, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;
        END $$;
        """
}
