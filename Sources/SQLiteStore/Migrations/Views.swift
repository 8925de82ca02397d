import Jobs
import SQLite

/// The views for people: names instead of numbers, times as ISO 8601 in UTC, errors as JSON.
extension Migration {
    static let views: KeyValuePairs<String, SQL> = [
        "jobs": jobs, "results": results, "attempts": attempts, "queues": queues, "graphs": graphs, "waiting": waiting,
        "definitions": definitions, "schedules": schedules,
    ]

    // MARK: Columns

    private static func time(_ milliseconds: SQL) -> SQL {
        "strftime('%Y-%m-%dT%H:%M:%fZ', \(milliseconds) / 1000.0, 'unixepoch')"
    }

    /// The end of a job's wait on the current wall clock, if the wait was requested as a duration; otherwise the due
    /// time.
    private static let waitEnd: SQL = """
        iif(job.state < \(JobState.ready) AND job.steady_ms IS NOT NULL,
                        job.steady_ms + (SELECT skew_ms FROM clock), job.due_ms)
        """

    /// The name of a number in a column, such as a state.
    private static func name(of column: SQL, _ cases: [(number: Int, name: String)]) -> SQL {
        let names = cases.map { "WHEN \($0.number) THEN '\($0.name)'" }.joined(separator: " ")
        return SQL(trusted: "CASE \(column) \(names) END")
    }

    private static func state(_ column: SQL) -> SQL {
        name(of: column, JobState.allCases.map { ($0.rawValue, $0.name) })
    }

    private static func error(of table: SQL) -> SQL {
        """
        iif(\(table).code IS NULL, NULL,
                        json_object('code', \(table).code, 'message', \(table).message, 'detail', json(\(table).detail)))
        """
    }

    // MARK: Views

    private static let jobs: SQL = """
        CREATE VIEW jobs AS
        SELECT      job.id                                     AS job,
                    job.graph_id                               AS "graph",
                    job.node                                   AS node,
                    definition.name                            AS definition,
                    definition.kind                            AS kind,
                    queue.name                                 AS queue,
                    \(name(of: "job.priority", Priority.allCases.map { ($0.rawValue, $0.name) })) AS priority,
                    \(state("job.state")) AS state,
                    job.attempt                                AS attempt,
                    job.tries || ' of ' || definition.max_tries AS tries,
                    \(time("job.enqueued_ms")) AS enqueued,
                    \(time(waitEnd)) AS due,
                    \(time("job.started_ms")) AS started,
                    \(time("job.finished_ms")) AS finished,
                    (job.finished_ms - job.started_ms) / 1000.0 AS seconds,
                    \(time("job.cancel_ms")) AS cancel_requested,
                    job.repeats_id                             AS repeats,
                    job_input.input                            AS input,
                    result.value                               AS value,
                    \(error(of: "result")) AS error
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        LEFT JOIN   job_input ON job_input.job_id = job.id
        LEFT JOIN   result ON result.job_id = job.id
        """

    private static let results: SQL = """
        CREATE VIEW results AS
        SELECT      result.job_id                              AS job,
                    job.graph_id                               AS "graph",
                    job.node                                   AS node,
                    definition.name                            AS definition,
                    definition.kind                            AS kind,
                    \(state("result.outcome")) AS outcome,
                    result.attempt                             AS attempt,
                    \(time("result.finished_ms")) AS finished,
                    result.value                               AS value,
                    \(error(of: "result")) AS error
        FROM        result
        JOIN        job ON job.id = result.job_id
        JOIN        definition ON definition.id = job.definition_id
        """

    /// The running attempt of a job comes after those that ended.
    private static let attempts: SQL = """
        CREATE VIEW attempts AS
        SELECT      attempt.job_id                             AS job,
                    attempt.number                             AS attempt,
                    definition.name                            AS definition,
                    \(name(of: "attempt.outcome", AttemptOutcome.allCases.map { ($0.rawValue, $0.name) })) AS outcome,
                    \(time("attempt.started_ms")) AS started,
                    \(time("attempt.ended_ms")) AS ended,
                    (attempt.ended_ms - attempt.started_ms) / 1000.0 AS seconds,
                    \(error(of: "attempt")) AS error,
                    \(time("attempt.retry_ms")) AS retry,
                    attempt.connections                        AS connections,
                    attempt.usage                              AS usage
        FROM        attempt
        JOIN        job ON job.id = attempt.job_id
        JOIN        definition ON definition.id = job.definition_id
        UNION ALL
        SELECT      job.id, job.attempt, definition.name, 'running', \(time("job.started_ms")),
                    NULL, NULL, NULL, NULL, NULL, NULL
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        WHERE       job.state < \(JobState.firstFinal)
        AND         job.state = \(JobState.running)
        """

    private static let queues: SQL = """
        CREATE VIEW queues AS
        SELECT      queue.name                                 AS queue,
                    queue."limit"                              AS "limit",
                    queue.limit_per_daemon                     AS limit_per_daemon,
                    queue.weight                               AS weight,
                    \(time("queue.paused_ms")) AS paused,
                    tally.running, tally.ready, tally.scheduled, tally.blocked,
                    tally.succeeded, tally.failed, tally.cancelled, tally.skipped
        FROM        queue
        JOIN        tally ON tally.queue_id = queue.id
        WHERE       queue.removed_ms IS NULL
        """

    private static let graphs: SQL = """
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
                    \(time("\"graph\".enqueued_ms")) AS enqueued,
                    \(time("\"graph\".finished_ms")) AS finished,
                    ("graph".finished_ms - "graph".enqueued_ms) / 1000.0 AS seconds,
                    "graph".running, "graph".ready, "graph".scheduled, "graph".blocked,
                    "graph".succeeded, "graph".failed, "graph".cancelled, "graph".skipped
        FROM        "graph"
        """

    /// Why each job that has not started does not run.
    private static let waiting: SQL = """
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
                            SELECT   'job ' || other.id || ' (' || coalesce(other.node, origin.name) || ') to '
                                         || iif(edge.condition = \(DependencyCondition.succeeded), 'succeed', 'finish')
                                         || ', which is ' || \(state("other.state")) AS line
                            FROM     dependency AS edge
                            JOIN     job AS other ON other.id = edge.dependency_id
                            JOIN     definition AS origin ON origin.id = other.definition_id
                            WHERE    edge.dependent_id = job.id
                            AND      other.state < \(JobState.firstFinal)
                            ORDER BY edge.position
                            LIMIT    3))
                        || iif(job.pending > 3, '; and ' || (job.pending - 3) || ' more', '') AS reason
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        WHERE       job.state < \(JobState.firstFinal)
        AND         job.state = \(JobState.blocked)
        UNION ALL
        SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'scheduled',
                    'is due at ' || \(time(waitEnd))
                        || iif(job.tries > 0, ', for try ' || (job.tries + 1) || ' of ' || definition.max_tries, '')
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        WHERE       job.state < \(JobState.firstFinal)
        AND         job.state = \(JobState.scheduled)
        UNION ALL
        SELECT      job.id, job.graph_id, job.node, definition.name, queue.name, 'ready',
                    CASE
                        WHEN queue.paused_ms IS NOT NULL
                        THEN 'queue ' || queue.name || ' is paused since ' || \(time("queue.paused_ms"))
                        WHEN EXISTS (SELECT 1 FROM daemon WHERE left_ms IS NULL AND queues IS NOT NULL
                                     AND queue.name NOT IN (SELECT value FROM json_each(queues)))
                        THEN 'no running daemon serves queue ' || queue.name
                        WHEN EXISTS (SELECT 1 FROM daemon WHERE left_ms IS NULL AND kinds IS NOT NULL
                                     AND definition.kind NOT IN (SELECT value FROM json_each(kinds)))
                        THEN 'no running daemon serves kind ' || definition.kind
                        WHEN tally.running >= queue."limit"
                        THEN 'queue ' || queue.name || ' is at its limit of ' || queue."limit"
                        WHEN tally.running >= queue.limit_per_daemon
                        THEN 'queue ' || queue.name || ' is at its limit of ' || queue.limit_per_daemon
                            || ' per daemon'
                        ELSE 'waits for its turn in queue ' || queue.name
                    END
        FROM        job
        JOIN        definition ON definition.id = job.definition_id
        JOIN        queue ON queue.id = job.queue_id
        JOIN        tally ON tally.queue_id = job.queue_id
        WHERE       job.state = \(JobState.ready)
        """

    /// The definitions and graph definitions that can be enqueued.
    private static let definitions: SQL = """
        CREATE VIEW definitions AS
        SELECT      definition.name                            AS name,
                    'definition'                               AS type,
                    definition.revision                        AS revision,
                    definition.kind                            AS kind,
                    definition.queue                           AS queue,
                    \(name(of: "definition.priority", Priority.allCases.map { ($0.rawValue, $0.name) })) AS priority,
                    definition.retry                           AS retry,
                    definition.timeout_ms / 1000.0             AS timeout_seconds,
                    definition.input                           AS input,
                    \(time("definition.updated_ms")) AS updated,
                    definition.summary                         AS summary,
                    definition.problem                         AS problem,
                    NULL                                       AS body,
                    definition.program                         AS program
        FROM        definition
        WHERE       definition.replaced_ms IS NULL
        UNION ALL
        SELECT      graph_definition.name, 'graph', graph_definition.revision, NULL, NULL, NULL, NULL, NULL, NULL,
                    \(time("graph_definition.updated_ms")), graph_definition.summary, graph_definition.problem,
                    graph_definition.body, NULL
        FROM        graph_definition
        WHERE       graph_definition.replaced_ms IS NULL
        """

    /// The schedules, with their last and next times.
    private static let schedules: SQL = """
        CREATE VIEW schedules AS
        SELECT      schedule.name                              AS schedule,
                    CASE
                        WHEN schedule.paused_ms IS NOT NULL THEN 'paused'
                        WHEN schedule.next_ms IS NULL THEN 'never'
                        ELSE 'active'
                    END AS state,
                    json_extract(schedule.body, '$.definition') AS definition,
                    (SELECT group_concat(value, '; ') FROM json_each(schedule.body, '$.calendar')) AS calendar,
                    \(time("schedule.next_ms")) AS next,
                    \(time("schedule.last_ms")) AS last,
                    schedule.last_job_id                       AS last_job,
                    schedule.last_graph_id                     AS last_graph,
                    \(time("schedule.skipped_ms")) AS skipped,
                    \(time("schedule.paused_ms")) AS paused,
                    iif(json_extract(schedule.body, '$.persistent'), 'yes', 'no') AS persistent,
                    json_extract(schedule.body, '$.overlap')   AS overlap,
                    json_extract(schedule.body, '$.input')     AS input,
                    schedule.summary                           AS summary,
                    schedule.problem                           AS problem
        FROM        schedule
        """
}
