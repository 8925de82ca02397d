import SQLite

extension Migration {
    /// The views for people: names instead of numbers, times as ISO 8601 in UTC, errors as JSON.
    static let views: SQL = """
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
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.due_ms / 1000.0, 'unixepoch') AS due,
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

        CREATE VIEW results AS
        SELECT      result.job_id                              AS job,
                    job.graph_id                               AS "graph",
                    job.node                                   AS node,
                    definition.name                            AS definition,
                    definition.kind                            AS kind,
                    CASE result.outcome
                        WHEN 0 THEN 'blocked' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'ready' WHEN 3 THEN 'running'
                        WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'skipped'
                    END AS outcome,
                    result.attempt                             AS attempt,
                    strftime('%Y-%m-%dT%H:%M:%fZ', result.finished_ms / 1000.0, 'unixepoch') AS finished,
                    result.value                               AS value,
                    iif(result.code IS NULL, NULL,
                        json_object('code', result.code, 'message', result.message, 'detail', json(result.detail))) AS error
        FROM        result
        JOIN        job ON job.id = result.job_id
        JOIN        definition ON definition.id = job.definition_id;

        -- The running attempt of a job comes after those that ended.
        CREATE VIEW attempts AS
        SELECT      attempt.job_id                             AS job,
                    attempt.number                             AS attempt,
                    definition.name                            AS definition,
                    CASE attempt.outcome
                        WHEN 0 THEN 'succeeded' WHEN 1 THEN 'failed' WHEN 2 THEN 'timed_out'
                        WHEN 3 THEN 'cancelled' WHEN 4 THEN 'interrupted' WHEN 5 THEN 'crashed'
                    END AS outcome,
                    strftime('%Y-%m-%dT%H:%M:%fZ', attempt.started_ms / 1000.0, 'unixepoch') AS started,
                    strftime('%Y-%m-%dT%H:%M:%fZ', attempt.ended_ms / 1000.0, 'unixepoch') AS ended,
                    (attempt.ended_ms - attempt.started_ms) / 1000.0 AS seconds,
                    iif(attempt.code IS NULL, NULL,
                        json_object('code', attempt.code, 'message', attempt.message, 'detail', json(attempt.detail))) AS error,
                    strftime('%Y-%m-%dT%H:%M:%fZ', attempt.retry_ms / 1000.0, 'unixepoch') AS retry,
                    attempt.connections                        AS connections
        FROM        attempt
        JOIN        job ON job.id = attempt.job_id
        JOIN        definition ON definition.id = job.definition_id
        UNION ALL
        SELECT      job.id, job.attempt, definition.name, 'running',
                    strftime('%Y-%m-%dT%H:%M:%fZ', job.started_ms / 1000.0, 'unixepoch'),
                    NULL, NULL, NULL, NULL, NULL
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        WHERE       job.state < 4
        AND         job.state = 3;

        CREATE VIEW queues AS
        SELECT      queue.name                                 AS queue,
                    queue.concurrency                          AS concurrency,
                    queue.weight                               AS weight,
                    strftime('%Y-%m-%dT%H:%M:%fZ', queue.paused_ms / 1000.0, 'unixepoch') AS paused,
                    tally.running, tally.ready, tally.scheduled, tally.blocked,
                    tally.succeeded, tally.failed, tally.cancelled, tally.skipped
        FROM        queue
        JOIN        tally ON tally.queue_id = queue.id
        WHERE       queue.removed_ms IS NULL;

        CREATE VIEW graphs AS
        SELECT      "graph".id                                 AS "graph",
                    "graph".name                               AS name,
                    CASE
                        WHEN "graph".finished_ms IS NULL THEN 'open'
                        WHEN "graph".failed > 0 THEN 'failed'
                        WHEN "graph".cancelled > 0 THEN 'cancelled'
                        WHEN "graph".skipped > 0 THEN 'skipped'
                        ELSE 'succeeded'
                    END AS state,
                    strftime('%Y-%m-%dT%H:%M:%fZ', "graph".enqueued_ms / 1000.0, 'unixepoch') AS enqueued,
                    strftime('%Y-%m-%dT%H:%M:%fZ', "graph".finished_ms / 1000.0, 'unixepoch') AS finished,
                    ("graph".finished_ms - "graph".enqueued_ms) / 1000.0 AS seconds,
                    "graph".running, "graph".ready, "graph".scheduled, "graph".blocked,
                    "graph".succeeded, "graph".failed, "graph".cancelled, "graph".skipped
        FROM        "graph";

        -- Why each job that has not started does not run.
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
                    'is due at ' || strftime('%Y-%m-%dT%H:%M:%fZ', job.due_ms / 1000.0, 'unixepoch')
                        || iif(job.tries > 0, ', for try ' || (job.tries + 1) || ' of ' || definition.max_attempts, '')
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        WHERE       job.state = 1
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

        -- What can be enqueued by name.
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
                    json_extract(graph_definition.body, '$.summary'), graph_definition.problem, graph_definition.body
        FROM        graph_definition
        WHERE       graph_definition.replaced_ms IS NULL;

        -- What is enqueued when.
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
                    json_extract(schedule.body, '$.summary')   AS summary,
                    schedule.problem                           AS problem
        FROM        schedule;
        """
}
