import SQLite

extension Migration {
    /// Shows the end of a wait as a time on the current wall clock.
    static let jobsView: SQL = """
        CREATE VIEW jobs AS
        SELECT      job.id                                     AS job,
                    job.graph_id                               AS "graph",
                    job.node                                   AS node,
                    definition.name                            AS definition,
                    definition.kind                            AS kind,
                    queue.name                                 AS queue,
                    CASE job.priority
                        WHEN -2 THEN 'very_low' WHEN -1 THEN 'low' WHEN 0 THEN 'normal' WHEN 1 THEN 'high' WHEN 2 THEN 'very_high'
                    END AS priority,
                    CASE job.state
                        WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running'
                        WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped'
                    END AS state,
                    job.attempt                                AS attempt,
                    job.tries || ' of ' || definition.max_attempts AS tries,
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.enqueued_ms / 1000.0, 'unixepoch') AS enqueued,
                    strftime('%Y-%m-%dT%H:%M:%fZ', iif(job.state < 2 AND job.steady_ms IS NOT NULL,
                        job.steady_ms + (SELECT skew_ms FROM clock), job.due_ms) / 1000.0, 'unixepoch') AS due,
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.started_ms / 1000.0, 'unixepoch') AS started,
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.finished_ms / 1000.0, 'unixepoch') AS finished,
                    (job.finished_ms - job.started_ms) / 1000.0 AS seconds,
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.cancel_ms / 1000.0, 'unixepoch') AS cancel_requested,
                    job.repeats_id                             AS repeats,
                    job_input.input                            AS input,
                    result.value                               AS value,
                    iif(result.code IS NULL, NULL,
                        json_object('code', result.code, 'message', result.message, 'detail', json(result.detail))) AS error
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        LEFT JOIN   job_input ON job_input.job_id = job.id
        LEFT JOIN   result ON result.job_id = job.id;
        """

    static let waitingView: SQL = """
        CREATE VIEW waiting AS
        SELECT      job.id                                     AS job,
                    job.graph_id                               AS "graph",
                    job.node                                   AS node,
                    definition.name                            AS definition,
                    queue.name                                 AS queue,
                    'blocked'                                  AS state,
                    'waits for ' || (
                        SELECT group_concat(line, '; ')
                        FROM   (
                            SELECT   'job ' || parent.id || ' (' || coalesce(parent.node, origin.name) || ') to '
                                         || iif(edge.condition = 0, 'succeed', 'finish') || ', which is '
                                         || CASE parent.state
                        WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running'
                        WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped'
                    END AS line
                            FROM     dependency AS edge
                            JOIN     job AS parent ON parent.id = edge.parent_id
                            JOIN     definition AS origin ON origin.id = parent.definition_id
                            WHERE    edge.job_id = job.id
                            AND      parent.state < 4
                            ORDER BY edge.position
                            LIMIT    3))
                        || iif(job.pending > 3, '; and ' || (job.pending - 3) || ' more', '') AS reason
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        WHERE       job.state < 4
        AND         job.state = 0
        UNION ALL
        SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'scheduled',
                    'is due at ' || strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(
                        job.steady_ms + (SELECT skew_ms FROM clock), job.due_ms) / 1000.0, 'unixepoch')
                        || iif(job.tries > 0, ', for try ' || (job.tries + 1) || ' of ' || definition.max_attempts, '')
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        WHERE       job.state < 4
        AND         job.state = 1
        UNION ALL
        SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'ready',
                    CASE
                        WHEN queue.paused_ms IS NOT NULL
                        THEN 'queue ' || queue.name || ' is paused since ' || strftime('%Y-%m-%dT%H:%M:%fZ', queue.paused_ms / 1000.0, 'unixepoch')
                        WHEN tally.running >= queue.concurrency
                        THEN 'queue ' || queue.name || ' runs as many jobs as it may, ' || queue.concurrency
                        ELSE 'waits for its turn in queue ' || queue.name
                    END
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        JOIN        tally ON tally.queue_id = job.queue_id
        WHERE       job.state = 2;
        """

    static let definitionsView: SQL = """
        CREATE VIEW definitions AS
        SELECT      definition.name                            AS name,
                    'definition'                               AS sort,
                    definition.revision                        AS revision,
                    definition.kind                            AS kind,
                    definition.queue                           AS queue,
                    CASE definition.priority
                        WHEN -2 THEN 'very_low' WHEN -1 THEN 'low' WHEN 0 THEN 'normal' WHEN 1 THEN 'high' WHEN 2 THEN 'very_high'
                    END AS priority,
                    definition.retry                           AS retry,
                    definition.timeout_ms / 1000.0             AS timeout_seconds,
                    definition.input                           AS input,
                    strftime('%Y-%m-%dT%H:%M:%fZ', definition.updated_ms / 1000.0, 'unixepoch') AS updated,
                    definition.summary                         AS summary,
                    definition.problem                         AS problem,
                    NULL                                       AS body
        FROM        definition
        WHERE       definition.replaced_ms IS NULL
        UNION ALL
        SELECT      graph_definition.name, 'graph', graph_definition.revision, NULL, NULL, NULL, NULL, NULL, NULL,
                    strftime('%Y-%m-%dT%H:%M:%fZ', graph_definition.updated_ms / 1000.0, 'unixepoch'),
                    graph_definition.summary, graph_definition.problem, graph_definition.body
        FROM        graph_definition
        WHERE       graph_definition.replaced_ms IS NULL;
        """

    static let schedulesView: SQL = """
        CREATE VIEW schedules AS
        SELECT      schedule.name                              AS schedule,
                    CASE
                        WHEN schedule.paused_ms IS NOT NULL THEN 'paused'
                        WHEN schedule.next_ms IS NULL THEN 'never'
                        ELSE 'active'
                    END AS state,
                    json_extract(schedule.body, '$.definition') AS definition,
                    (SELECT group_concat(value, '; ') FROM json_each(schedule.body, '$.calendar')) AS calendar,
                    strftime('%Y-%m-%dT%H:%M:%fZ', schedule.next_ms / 1000.0, 'unixepoch') AS next,
                    strftime('%Y-%m-%dT%H:%M:%fZ', schedule.last_ms / 1000.0, 'unixepoch') AS last,
                    schedule.last_job_id                       AS last_job,
                    schedule.last_graph_id                     AS last_graph,
                    strftime('%Y-%m-%dT%H:%M:%fZ', schedule.skipped_ms / 1000.0, 'unixepoch') AS skipped,
                    strftime('%Y-%m-%dT%H:%M:%fZ', schedule.paused_ms / 1000.0, 'unixepoch') AS paused,
                    iif(json_extract(schedule.body, '$.persistent'), 'yes', 'no') AS persistent,
                    json_extract(schedule.body, '$.overlap')   AS overlap,
                    json_extract(schedule.body, '$.input')     AS input,
                    schedule.summary                           AS summary,
                    schedule.problem                           AS problem
        FROM        schedule;
        """
}
