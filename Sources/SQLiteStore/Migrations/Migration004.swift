import SQLite

extension Migration {
    /// One word for one thing: a queue has a limit, a definition a maximum of tries, and an edge leads from a dependent
    /// to its dependency. ALTER TABLE … RENAME COLUMN would keep the old words in the names of constraints and indexes.
    static let m004 = Migration(
        version: 4,
        steps: [
            .rebuild(queueWithLimit), .rebuild(definitionWithTries), .rebuild(dependency),
            .sql("ALTER TABLE cancelling RENAME COLUMN asked_ms TO requested_ms"), .sql(connectionErrors),
            .sql(inputFields),
        ])

    /// Renames a field of the connections that attempts recorded. Only a field's name is followed by a quotation mark
    /// and a colon: inside a text, the quotation mark has a backslash before it.
    private static let connectionErrors: SQL = """
        UPDATE attempt
        SET    connections = replace(connections, '"failure":', '"error":')
        WHERE  connections IS NOT NULL
        """

    /// Renames fields in the inputs of the kinds that come with Halyard: a run ignores an unknown field, so a job would
    /// silently lose its limits.
    private static let inputFields: SQL = """
        UPDATE job_input
        SET    input = \(renamedFields)
        WHERE  \(canBeRenamed) AND job_id IN (
                   SELECT job.id FROM job JOIN definition ON definition.id = job.definition_id
                   WHERE  definition.kind IN ('upload', 'unfurl', 'enrich'));

        UPDATE definition
        SET    input = \(renamedFields)
        WHERE  \(canBeRenamed) AND kind IN ('upload', 'unfurl', 'enrich');
        """

    /// Whether the input has a former field, and is not too large with the new names.
    private static let canBeRenamed: SQL = """
        iif(json_valid(input),
            coalesce(input -> '$.timeout_ms', input -> '$.max_bytes', input -> '$.max_bytes_per_second') IS NOT NULL
                AND length(CAST(\(renamedFields) AS BLOB)) <= 1048576,
            0)
        """

    /// A null removes the field.
    private static let renamedFields: SQL = """
        json_patch(input, json_object(
            'timeout', CAST(input ->> '$.timeout_ms' AS INTEGER) || 'ms', 'timeout_ms', NULL,
            'max_size', input -> '$.max_bytes', 'max_bytes', NULL,
            'max_rate', input -> '$.max_bytes_per_second', 'max_bytes_per_second', NULL))
        """

    private static let queueWithLimit = TableRebuild(
        table: "queue",
        create: """
            -- The row of a removed queue stays for the final jobs that refer to it.
            CREATE TABLE new_queue (
                id         INTEGER PRIMARY KEY,
                name       TEXT NOT NULL,
                "limit"    INTEGER NOT NULL,
                weight     INTEGER NOT NULL,
                paused_ms  INTEGER,
                removed_ms INTEGER,
                CONSTRAINT queue_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT queue_name UNIQUE (name),
                CONSTRAINT queue_limit CHECK ("limit" BETWEEN 1 AND 10000),
                CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000)
            ) STRICT;
            """,
        values: ["limit": "concurrency"])

    private static let definitionWithTries = TableRebuild(
        table: "definition",
        create: """
            DROP INDEX definition_current;

            -- One row for each revision; a removed or replaced revision stays for the jobs that refer to it.
            CREATE TABLE new_definition (
                id          INTEGER PRIMARY KEY,
                name        TEXT NOT NULL,
                revision    INTEGER NOT NULL,
                kind        TEXT NOT NULL,
                summary     TEXT,
                queue       TEXT NOT NULL,
                priority    INTEGER NOT NULL,
                retry       TEXT NOT NULL,
                max_tries   INTEGER NOT NULL,
                timeout_ms  INTEGER,
                input       TEXT NOT NULL,
                updated_ms  INTEGER NOT NULL,
                replaced_ms INTEGER,
                problem     TEXT,
                CONSTRAINT definition_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT definition_summary_shows CHECK (
                    \(visible("summary"))),
                CONSTRAINT definition_revision UNIQUE (name, revision),
                CONSTRAINT definition_priority CHECK (priority BETWEEN -2 AND 2),
                CONSTRAINT definition_tries CHECK (max_tries >= 1),
                CONSTRAINT definition_timeout CHECK (timeout_ms > 0)
            ) STRICT;

            CREATE UNIQUE INDEX definition_current ON new_definition (name) WHERE replaced_ms IS NULL;
            """,
        values: [
            // The field of the retry policy is renamed as well, if the text is valid.
            "retry": """
            CASE
                WHEN iif(json_valid(retry), retry -> '$.attempts', NULL) IS NULL THEN retry
                ELSE json_patch(json_object('tries', retry -> '$.attempts'), json_remove(retry, '$.attempts'))
            END
            """,
            "max_tries": "max_attempts",
        ])

    private static let dependency = TableRebuild(
        table: "dependency",
        create: """
            DROP INDEX dependency_parent;

            CREATE TABLE new_dependency (
                dependent_id  INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
                position      INTEGER NOT NULL,
                dependency_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
                condition     INTEGER NOT NULL,
                PRIMARY KEY (dependent_id, position),
                CONSTRAINT dependency_position CHECK (position >= 0),
                CONSTRAINT dependency_condition CHECK (condition IN (0, 1)),
                CONSTRAINT dependency_on_another CHECK (dependency_id <> dependent_id)
            ) STRICT, WITHOUT ROWID;

            CREATE INDEX dependency_dependents ON new_dependency (dependency_id, condition);
            """,
        values: ["dependent_id": "job_id", "dependency_id": "parent_id"])
}
