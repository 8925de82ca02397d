import SQLite

extension Migration {
    /// Forbids the characters that `HiddenCharacter` lists. Searches for them only in text that is not plain printable
    /// ASCII.
    static func visible(_ column: SQL) -> SQL {
        """
        instr(\(column), char(0)) = 0 AND (\(column) NOT GLOB '*[^ -~]*' OR \(column) NOT GLOB '*[' || char(
                    1, 45, 31, 127, 45, 159, 173, 847, 1564, 4447, 45, 4448, 6068, 45, 6069, 6155, 45, 6159, 8203,
                    45, 8207, 8232, 45, 8238, 8288, 45, 8303, 12644, 64976, 45, 65007, 65279, 65440, 65520, 45,
                    65531, 65534, 45, 65535, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 921599) || ']*')
        """
    }

    static let queue = TableRebuild(
        table: "queue",
        create: """
            -- The row of a removed queue stays for the final jobs that refer to it.
            CREATE TABLE new_queue (
            \(queueColumns)
                CONSTRAINT queue_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT queue_name UNIQUE (name),
                CONSTRAINT queue_concurrency CHECK (concurrency BETWEEN 1 AND 10000),
                CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000)
            ) STRICT;
            """)

    static let definition = TableRebuild(
        table: "definition",
        create: """
            DROP INDEX definition_current;

            -- One row for each revision; a removed or replaced revision stays for the jobs that refer to it.
            CREATE TABLE new_definition (
            \(definitionColumns)
                CONSTRAINT definition_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT definition_summary_shows CHECK (
                    \(visible("summary"))),
                CONSTRAINT definition_revision UNIQUE (name, revision),
                CONSTRAINT definition_priority CHECK (priority BETWEEN -2 AND 2),
                CONSTRAINT definition_attempts CHECK (max_attempts >= 1),
                CONSTRAINT definition_timeout CHECK (timeout_ms > 0)
            ) STRICT;

            CREATE UNIQUE INDEX definition_current ON new_definition (name) WHERE replaced_ms IS NULL;
            """)

    static let graphDefinition = TableRebuild(
        table: "graph_definition",
        create: """
            DROP INDEX graph_definition_current;

            CREATE TABLE new_graph_definition (
            \(graphDefinitionColumns)
                summary     TEXT,
                CONSTRAINT graph_definition_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT graph_definition_summary_shows CHECK (
                    \(visible("summary"))),
                CONSTRAINT graph_definition_revision UNIQUE (name, revision)
            ) STRICT;

            CREATE UNIQUE INDEX graph_definition_current ON new_graph_definition (name) WHERE replaced_ms IS NULL;
            """,
        values: ["summary": "iif(json_valid(body), body ->> 'summary', NULL)"])

    static let graph = TableRebuild(
        table: "graph",
        create: """
            -- The counts are the numbers of its jobs, by state.
            CREATE TABLE new_graph (
            \(graphColumns)
                CONSTRAINT graph_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT graph_finished_without_open_jobs
                    CHECK ((finished_ms IS NULL) = (blocked + scheduled + ready + running > 0)),
                CONSTRAINT graph_counts
                    CHECK (min(blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped) >= 0)
            ) STRICT;
            """)

    static let idempotency = TableRebuild(
        table: "idempotency",
        create: """
            -- A key represents consecutive jobs, starting with first_job_id, until the last of them is pruned.
            CREATE TABLE new_idempotency (
                key          TEXT PRIMARY KEY,
                fingerprint  INTEGER NOT NULL,
                graph_id     INTEGER,
                first_job_id INTEGER NOT NULL,
                jobs         INTEGER NOT NULL,
                CONSTRAINT idempotency_key_shows CHECK (
                    \(visible("key"))),
                CONSTRAINT idempotency_first_job UNIQUE (first_job_id),
                CONSTRAINT idempotency_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 255),
                CONSTRAINT idempotency_jobs CHECK (jobs >= 1)
            ) STRICT, WITHOUT ROWID;
            """)

    static let kind = TableRebuild(
        table: "kind",
        create: """
            CREATE TABLE new_kind (
            \(kindColumns)
                updated_ms  INTEGER NOT NULL,
                CONSTRAINT kind_name_shows CHECK (
                    \(visible("name"))),
                CONSTRAINT kind_summary_shows CHECK (
                    \(visible("summary")))
            ) STRICT, WITHOUT ROWID;
            """)
}
