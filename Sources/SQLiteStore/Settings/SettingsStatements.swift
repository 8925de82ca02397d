import SQLite

struct SettingsStatements: ~Copyable {
    let insertQueue: Statement
    let insertTally: Statement
    let updateQueue: Statement
    let reviveQueue: Statement
    let queueUsers: Statement
    let removeQueue: Statement
    let deleteKinds: Statement
    let insertKind: Statement
    let currentDefinition: Statement
    let insertDefinition: Statement
    let retireDefinition: Statement
    let currentGraph: Statement
    let insertGraph: Statement
    let retireGraph: Statement
    let clearDefinitionProblems: Statement
    let clearGraphProblems: Statement
    let setDefinitionProblem: Statement
    let setGraphProblem: Statement

    init(_ connection: Connection) {
        insertQueue = connection.prepare(
            """
            INSERT INTO queue (id, name, "limit", weight)
            VALUES (:id, :name, :limit, :weight)
            """)
        insertTally = connection.prepare("INSERT INTO tally (queue_id) VALUES (:queue)")
        updateQueue = connection.prepare(
            """
            UPDATE queue
            SET    "limit" = ?2, weight = ?3, paused_ms = ?4
            WHERE  id = ?1
            """)
        reviveQueue = connection.prepare(
            """
            UPDATE queue
            SET    name = ?2, "limit" = ?3, weight = ?4, paused_ms = NULL, removed_ms = NULL
            WHERE  id = ?1
            AND    removed_ms IS NOT NULL
            """)
        // If another program has written a body that is not valid JSON, that body names no queue.
        queueUsers = connection.prepare(
            """
            SELECT   'definition', name
            FROM     definition
            WHERE    queue = ?1
            AND      replaced_ms IS NULL
            UNION ALL
            SELECT   'graph', name
            FROM     graph_definition
            WHERE    replaced_ms IS NULL
            AND      EXISTS (SELECT 1
                             FROM   json_each(iif(json_valid(body), body, '{}'), '$.nodes') AS node
                             WHERE  iif(node.type = 'object', node.value ->> 'queue', NULL) = ?1)
            UNION ALL
            SELECT   'schedule', name
            FROM     schedule
            WHERE    iif(json_valid(body), body ->> 'queue', NULL) = ?1
            ORDER BY 1, 2
            """)
        removeQueue = connection.prepare(
            """
            UPDATE queue
            SET    removed_ms = ?2
            WHERE  id = ?1
            AND    removed_ms IS NULL
            """)
        deleteKinds = connection.prepare("DELETE FROM kind")
        insertKind = connection.prepare(
            """
            INSERT INTO kind (name, summary, input_type, output_type, accepts, offers, fields, updated_ms)
            VALUES (:name, :summary, :input, :output, :accepts, :offers, :fields, :now)
            """)
        currentDefinition = connection.prepare(
            """
            SELECT id, name, revision, kind, summary, queue, priority, retry, timeout_ms, input, updated_ms, problem
            FROM   definition
            WHERE  name = :name
            AND    replaced_ms IS NULL
            """)
        insertDefinition = connection.prepare(
            """
            INSERT INTO definition (name, revision, kind, summary, queue, priority, retry, max_tries, timeout_ms,
                                    input, updated_ms)
            VALUES (?1, 1 + coalesce((SELECT max(revision) FROM definition WHERE name = ?1), 0),
                    ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
        retireDefinition = connection.prepare(
            """
            UPDATE definition
            SET    replaced_ms = ?2, problem = NULL
            WHERE  name = ?1
            AND    replaced_ms IS NULL
            """)
        currentGraph = connection.prepare(
            """
            SELECT name, revision, body, updated_ms, problem
            FROM   graph_definition
            WHERE  name = :name
            AND    replaced_ms IS NULL
            """)
        insertGraph = connection.prepare(
            """
            INSERT INTO graph_definition (name, revision, body, updated_ms, summary)
            VALUES (?1, 1 + coalesce((SELECT max(revision) FROM graph_definition WHERE name = ?1), 0), ?2, ?3, ?4)
            """)
        retireGraph = connection.prepare(
            """
            UPDATE graph_definition
            SET    replaced_ms = ?2, problem = NULL
            WHERE  name = ?1
            AND    replaced_ms IS NULL
            """)
        clearDefinitionProblems = connection.prepare(
            "UPDATE definition SET problem = NULL WHERE problem IS NOT NULL")
        clearGraphProblems = connection.prepare(
            "UPDATE graph_definition SET problem = NULL WHERE problem IS NOT NULL")
        setDefinitionProblem = connection.prepare(
            "UPDATE definition SET problem = ?2 WHERE name = ?1 AND replaced_ms IS NULL")
        setGraphProblem = connection.prepare(
            "UPDATE graph_definition SET problem = ?2 WHERE name = ?1 AND replaced_ms IS NULL")
    }
}
