import SQLite

struct SettingsStatements: StatementGroup {
    let insertQueue = Statement(
        """
        INSERT INTO queue (id, name, "limit", weight)
        VALUES (:queue, :name, :limit, :weight)
        """)
    let insertTally = Statement("INSERT INTO tally (queue_id) VALUES (:queue)")
    let updateQueue = Statement(
        """
        UPDATE queue
        SET    "limit" = :limit, limit_per_daemon = :perDaemon, weight = :weight, paused_ms = :paused
        WHERE  id = :queue
        """)
    let reviveQueue = Statement(
        """
        UPDATE queue
        SET    name = :name, "limit" = :limit, limit_per_daemon = NULL, weight = :weight, paused_ms = NULL,
               removed_ms = NULL
        WHERE  id = :queue
        AND    removed_ms IS NOT NULL
        """)
    // If another program has written a body that is not valid JSON, that body names no queue.
    let queueUsers = Statement(
        """
        SELECT   'definition', name
        FROM     definition
        WHERE    queue = :name
        AND      replaced_ms IS NULL
        UNION ALL
        SELECT   'graph', name
        FROM     graph_definition
        WHERE    replaced_ms IS NULL
        AND      EXISTS (SELECT 1
                         FROM   json_each(iif(json_valid(body), body, '{}'), '$.nodes') AS node
                         WHERE  iif(node.type = 'object', node.value ->> 'queue', NULL) = :name)
        UNION ALL
        SELECT   'schedule', name
        FROM     schedule
        WHERE    iif(json_valid(body), body ->> 'queue', NULL) = :name
        ORDER BY 1, 2
        """)
    let removeQueue = Statement(
        """
        UPDATE queue
        SET    removed_ms = :now
        WHERE  id = :queue
        AND    removed_ms IS NULL
        """)
    let deleteKinds = Statement("DELETE FROM kind")
    let insertKind = Statement(
        """
        INSERT INTO kind (name, summary, input_type, output_type, accepts, offers, fields, updated_ms)
        VALUES (:name, :summary, :inputType, :outputType, :accepts, :offers, :fields, :now)
        """)
    let currentDefinition = Statement("\(DefinitionStatements.select) WHERE name = :name AND replaced_ms IS NULL")
    let insertDefinition = Statement(
        """
        INSERT INTO definition (name, revision, kind, summary, queue, priority, retry, max_tries, timeout_ms,
                                input, updated_ms, program)
        VALUES (:name, 1 + coalesce((SELECT max(revision) FROM definition WHERE name = :name), 0),
                :kind, :summary, :queue, :priority, :retry, :tries, :timeout, :input, :now, :program)
        """)
    let retireDefinition = Statement(
        """
        UPDATE definition
        SET    replaced_ms = :now, problem = NULL
        WHERE  name = :name
        AND    replaced_ms IS NULL
        """)
    let currentGraph = Statement("\(DefinitionStatements.selectGraph) WHERE name = :name AND replaced_ms IS NULL")
    let insertGraph = Statement(
        """
        INSERT INTO graph_definition (name, revision, body, updated_ms, summary)
        VALUES (:name, 1 + coalesce((SELECT max(revision) FROM graph_definition WHERE name = :name), 0),
                :body, :now, :summary)
        """)
    let retireGraph = Statement(
        """
        UPDATE graph_definition
        SET    replaced_ms = :now, problem = NULL
        WHERE  name = :name
        AND    replaced_ms IS NULL
        """)
    let clearDefinitionProblems = Statement("UPDATE definition SET problem = NULL WHERE problem IS NOT NULL")
    let clearGraphProblems = Statement("UPDATE graph_definition SET problem = NULL WHERE problem IS NOT NULL")
    let setDefinitionProblem = Statement(
        "UPDATE definition SET problem = :problem WHERE name = :name AND replaced_ms IS NULL")
    let setGraphProblem = Statement(
        "UPDATE graph_definition SET problem = :problem WHERE name = :name AND replaced_ms IS NULL")
}
