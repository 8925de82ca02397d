import Jobs

/// The views for people, with the names and columns of an SQLite database: names instead of numbers, times as ISO 8601
/// in UTC, and JSON as `json`. Each migration that changes a table creates all of them again.
extension Migration {
    static let views = [
        functions, record, jobsView, resultsView, attemptsView, queuesView, graphsView, waitingView, definitionsView,
        schedulesView, daemonsView,
    ]

    static let dropViews = """
        DROP VIEW IF EXISTS halyard.daemons, halyard.schedules, halyard.definitions, halyard.waiting, halyard.graphs,
                            halyard.queues, halyard.attempts, halyard.results, halyard.jobs, halyard.record;
        """

    private static let functions = """
        CREATE OR REPLACE FUNCTION halyard.iso(ms bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
            SELECT to_char(to_timestamp(ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        $$;

        -- Why a daemon that lives cannot use a definition; the last daemon's judgement if none lives. The row without a
        -- name says that a daemon has judged.
        CREATE OR REPLACE FUNCTION halyard.problem_of(of text) RETURNS text LANGUAGE sql STABLE AS $$
            WITH judge AS (
                SELECT   identity, number,
                         EXISTS (SELECT 1 FROM halyard.daemon
                                 WHERE daemon.identity = problem.identity AND ended_ms IS NULL) AS lives
                FROM     halyard.problem
                WHERE    name = ''
            )
            SELECT   problem.reason
            FROM     halyard.problem
            JOIN     judge USING (identity)
            WHERE    problem.name = $1
            AND      (judge.lives
                      OR (NOT EXISTS (SELECT 1 FROM judge WHERE lives)
                          AND judge.number = (SELECT max(number) FROM judge)))
            ORDER BY problem.number DESC
            LIMIT    1
        $$;

        -- The only daemon that can run the jobs of a lane, with its state; NULL if every daemon can.
        CREATE OR REPLACE FUNCTION halyard.home_of(of bigint) RETURNS text LANGUAGE sql STABLE AS $$
            SELECT    daemon.name || ', which has its file'
                      || CASE WHEN daemon.ended_ms IS NOT NULL THEN ' and ended at ' || halyard.iso(daemon.ended_ms)
                              WHEN daemon.alive_until_ms <= extract(epoch FROM clock_timestamp()) * 1000
                              THEN ' and was last seen at ' || halyard.iso(daemon.seen_ms)
                              WHEN drained.since_ms IS NOT NULL
                              THEN ' and is drained since ' || halyard.iso(drained.since_ms)
                              ELSE '' END
            FROM      halyard.lane
            JOIN      halyard.daemon ON daemon.id = (SELECT max(id) FROM halyard.daemon WHERE identity = lane.home)
            LEFT JOIN halyard.drained ON drained.identity = lane.home
            WHERE     lane.id = $1
        $$;

        -- Why no daemon serves a job; NULL if one does.
        CREATE OR REPLACE FUNCTION halyard.unserved(in_queue text, of_kind text)
        RETURNS text LANGUAGE sql STABLE AS $$
            WITH running AS (
                SELECT queues IS NULL OR in_queue = ANY (queues) AS serves_queue,
                       (kinds IS NULL OR of_kind = ANY (kinds))
                       AND EXISTS (SELECT 1 FROM halyard.kind
                                   WHERE kind.identity = daemon.identity AND kind.name = of_kind) AS serves_kind
                FROM   halyard.daemon
                WHERE  ended_ms IS NULL
            )
            SELECT CASE WHEN count(*) = 0 THEN 'no daemon runs'
                        WHEN bool_or(serves_queue AND serves_kind) THEN NULL
                        WHEN NOT bool_or(serves_queue) THEN 'no running daemon serves queue ' || in_queue
                        WHEN NOT bool_or(serves_kind) THEN 'no running daemon serves kind ' || of_kind
                        ELSE 'no running daemon serves both queue ' || in_queue || ' and kind ' || of_kind END
            FROM   running
        $$;

        -- Whether each daemon that could start a job of a queue and kind runs as many of the queue's jobs as one daemon
        -- may.
        CREATE OR REPLACE FUNCTION halyard.is_full_per_daemon(of bigint, of_kind text)
        RETURNS boolean LANGUAGE sql STABLE AS $$
            SELECT     coalesce(bool_and(load.running >= queue.limit_per_daemon), false)
            FROM       halyard.queue
            JOIN       halyard.daemon ON daemon.ended_ms IS NULL
                                     AND (daemon.queues IS NULL OR queue.name = ANY (daemon.queues))
                                     AND (daemon.kinds IS NULL OR of_kind = ANY (daemon.kinds))
            JOIN       halyard.kind ON kind.identity = daemon.identity AND kind.name = of_kind
            CROSS JOIN LATERAL (SELECT count(*) AS running
                                FROM   halyard.running
                                JOIN   halyard.lane ON lane.id = running.lane
                                WHERE  running.daemon = daemon.id
                                AND    lane.queue = queue.id) AS load
            WHERE      queue.id = $1
            AND        NOT EXISTS (SELECT 1 FROM halyard.drained WHERE drained.identity = daemon.identity)
        $$;
        """

    // MARK: Columns

    /// The name of a number in a column, such as a state.
    private static func name(of column: String, _ cases: [(number: Int, name: String)]) -> String {
        "CASE \(column) " + cases.map { "WHEN \($0.number) THEN '\($0.name)'" }.joined(separator: " ") + " END"
    }

    private static func state(_ column: String) -> String {
        name(of: column, JobState.allCases.map { ($0.rawValue, $0.name) })
    }

    private static func priority(_ column: String) -> String {
        name(of: column, Priority.allCases.map { ($0.rawValue, $0.name) })
    }

    private static func error(of table: String) -> String {
        """
        CASE WHEN \(table).code IS NOT NULL
             THEN json_build_object('code', \(table).code, 'message', \(table).message, 'detail', \(table).detail::json)
        END
        """
    }

    // MARK: Views

    /// All facts about one job, as numbers. A job has one row in exactly one of the five tables (S1).
    private static let record = """
        CREATE VIEW halyard.record AS
        SELECT    job.id, job.graph, job.node, job.definition, job.repeats, job.dependencies, job.enqueued_ms, job.input,
                  lane.queue, lane.priority,
                  coalesce(ready.lane, running.lane, scheduled.lane, blocked.lane, job.lane) AS lane,
                  CASE WHEN done.job IS NOT NULL THEN done.outcome
                       WHEN ready.job IS NOT NULL THEN \(JobState.ready.rawValue)
                       WHEN running.job IS NOT NULL THEN \(JobState.running.rawValue)
                       WHEN scheduled.job IS NOT NULL THEN \(JobState.scheduled.rawValue)
                       ELSE \(JobState.blocked.rawValue)
                  END AS state,
                  coalesce(done.last_attempt, ready.attempt, running.attempt, scheduled.attempt, blocked.attempt) AS attempt,
                  coalesce(done.tries, ready.tries, running.tries, scheduled.tries, blocked.tries) AS tries,
                  coalesce(done.rescues, ready.rescues, running.rescues, scheduled.rescues, blocked.rescues) AS rescues,
                  coalesce(done.pending, blocked.pending, 0) AS pending,
                  CASE WHEN scheduled.steady_ms IS NOT NULL THEN scheduled.steady_ms + clock.skew_ms
                       WHEN blocked.steady_ms IS NOT NULL THEN blocked.steady_ms + clock.skew_ms
                       ELSE coalesce(done.due_ms, ready.due_ms, running.due_ms, scheduled.due_ms, blocked.due_ms)
                  END AS due_ms,
                  coalesce(done.started_ms, ready.started_ms, running.started_ms, scheduled.started_ms) AS started_ms,
                  done.finished_ms, coalesce(done.cancel_ms, running.cancel_ms) AS cancel_ms,
                  done.attempt AS result_attempt, done.value, done.code, done.message, done.detail
        FROM      halyard.job
        JOIN      halyard.lane ON lane.id = job.lane
        JOIN      halyard.clock ON clock.id = 1
        LEFT JOIN halyard.done ON done.job = job.id
        LEFT JOIN halyard.ready ON ready.job = job.id
        LEFT JOIN halyard.running ON running.job = job.id
        LEFT JOIN halyard.scheduled ON scheduled.job = job.id
        LEFT JOIN halyard.blocked ON blocked.job = job.id;
        """

    private static let jobsView = """
        CREATE VIEW halyard.jobs AS
        SELECT record.id AS job, record.graph AS "graph", record.node, definition.name AS definition, definition.kind,
               queue.name AS queue, \(priority("record.priority")) AS priority, \(state("record.state")) AS state,
               record.attempt, record.tries || ' of ' || definition.max_tries AS tries,
               halyard.iso(record.enqueued_ms) AS enqueued, halyard.iso(record.due_ms) AS due,
               halyard.iso(record.started_ms) AS started, halyard.iso(record.finished_ms) AS finished,
               (record.finished_ms - record.started_ms) / 1000.0 AS seconds,
               halyard.iso(record.cancel_ms) AS cancel_requested, record.repeats, record.input::json AS input,
               record.value::json AS value, \(error(of: "record")) AS error
        FROM   halyard.record
        JOIN   halyard.definition ON definition.id = record.definition
        JOIN   halyard.queue ON queue.id = record.queue;
        """

    private static let resultsView = """
        CREATE VIEW halyard.results AS
        SELECT done.job, job.graph AS "graph", job.node, definition.name AS definition, definition.kind,
               \(state("done.outcome")) AS outcome, done.attempt, halyard.iso(done.finished_ms) AS finished,
               done.value::json AS value, \(error(of: "done")) AS error
        FROM   halyard.done
        JOIN   halyard.job ON job.id = done.job
        JOIN   halyard.definition ON definition.id = job.definition;
        """

    private static let attemptsView = """
        CREATE VIEW halyard.attempts AS
        SELECT attempt.job, attempt.number AS attempt, definition.name AS definition,
               \(name(of: "attempt.outcome", AttemptOutcome.allCases.map { ($0.rawValue, $0.name) })) AS outcome,
               halyard.iso(attempt.started_ms) AS started, halyard.iso(attempt.ended_ms) AS ended,
               (attempt.ended_ms - attempt.started_ms) / 1000.0 AS seconds, \(error(of: "attempt")) AS error,
               halyard.iso(attempt.retry_ms) AS retry, attempt.connections::json AS connections,
               attempt.usage::json AS usage
        FROM   halyard.attempt
        JOIN   halyard.job ON job.id = attempt.job
        JOIN   halyard.definition ON definition.id = job.definition
        UNION ALL
        SELECT done.job, done.attempt, definition.name, 'succeeded', halyard.iso(done.started_ms),
               halyard.iso(done.finished_ms), (done.finished_ms - done.started_ms) / 1000.0, NULL, NULL,
               done.connections::json, done.usage::json
        FROM   halyard.done
        JOIN   halyard.job ON job.id = done.job
        JOIN   halyard.definition ON definition.id = job.definition
        WHERE  done.outcome = \(Outcome.succeeded.rawValue)
        UNION ALL
        SELECT running.job, running.attempt, definition.name, 'running', halyard.iso(running.started_ms),
               NULL, NULL, NULL, NULL, NULL, NULL
        FROM   halyard.running
        JOIN   halyard.job ON job.id = running.job
        JOIN   halyard.definition ON definition.id = job.definition;
        """

    private static let queuesView = """
        CREATE VIEW halyard.queues AS
        SELECT     queue.name AS queue, queue."limit", queue.limit_per_daemon, queue.weight, halyard.iso(queue.paused_ms) AS paused,
                   tally.running, tally.ready, tally.scheduled, tally.blocked,
                   tally.succeeded, tally.failed, tally.cancelled, tally.skipped
        FROM       halyard.queue
        CROSS JOIN LATERAL halyard.tally(-queue.id) AS tally
        WHERE      queue.removed_ms IS NULL;
        """

    private static let graphsView = """
        CREATE VIEW halyard.graphs AS
        SELECT     graph.id AS "graph", graph.name,
                   CASE WHEN tally.blocked + tally.scheduled + tally.ready + tally.running > 0 THEN 'open'
                        WHEN tally.failed > 0 THEN 'failed'
                        WHEN tally.cancelled > 0 THEN 'cancelled'
                        WHEN tally.skipped > 0 THEN 'skipped'
                        ELSE 'succeeded'
                   END AS state,
                   halyard.iso(graph.enqueued_ms) AS enqueued, halyard.iso(ended.at_ms) AS finished,
                   (ended.at_ms - graph.enqueued_ms) / 1000.0 AS seconds,
                   tally.running, tally.ready, tally.scheduled, tally.blocked,
                   tally.succeeded, tally.failed, tally.cancelled, tally.skipped
        FROM       halyard.graph
        CROSS JOIN LATERAL halyard.tally(graph.id) AS tally
        CROSS JOIN LATERAL (SELECT CASE WHEN tally.blocked + tally.scheduled + tally.ready + tally.running = 0
                                        THEN tally.at_ms END AS at_ms) AS ended;
        """

    /// Why each job that has not started does not run.
    private static let waitingView = """
        CREATE VIEW halyard.waiting AS
        SELECT    record.id AS job, record.graph AS "graph", record.node, definition.name AS definition,
                  queue.name AS queue, \(state("record.state")) AS state,
                  CASE record.state
                      WHEN \(JobState.blocked.rawValue) THEN
                          'waits for ' || (
                              SELECT string_agg(line, '; ')
                              FROM   (SELECT   'job ' || other.id || ' (' || coalesce(other.node, origin.name) || ') to '
                                                   || CASE edge.condition WHEN 0 THEN 'succeed' ELSE 'finish' END
                                                   || ', which is ' || \(state("other.state")) AS line
                                      FROM     halyard.dependency AS edge
                                      JOIN     halyard.record AS other ON other.id = edge.dependency
                                      JOIN     halyard.definition AS origin ON origin.id = other.definition
                                      WHERE    edge.dependent = record.id
                                      AND      other.state < \(JobState.succeeded.rawValue)
                                      ORDER BY edge.position
                                      LIMIT    3) AS lines)
                          || CASE WHEN record.pending > 3 THEN '; and ' || (record.pending - 3) || ' more' ELSE '' END
                      WHEN \(JobState.scheduled.rawValue) THEN
                          'is due at ' || halyard.iso(record.due_ms)
                          || CASE WHEN record.tries > 0
                                  THEN ', for try ' || (record.tries + 1) || ' of ' || definition.max_tries ELSE '' END
                      ELSE
                          CASE WHEN queue.paused_ms IS NOT NULL
                               THEN 'queue ' || queue.name || ' is paused since ' || halyard.iso(queue.paused_ms)
                               WHEN halyard.home_of(record.lane) IS NOT NULL
                               THEN 'waits for the daemon ' || halyard.home_of(record.lane)
                               WHEN halyard.unserved(queue.name, definition.kind) IS NOT NULL
                               THEN halyard.unserved(queue.name, definition.kind)
                               WHEN (SELECT tally.running FROM halyard.tally(-queue.id) AS tally) >= queue."limit"
                               THEN 'queue ' || queue.name || ' is at its limit of ' || queue."limit"
                               WHEN queue.limit_per_daemon IS NOT NULL AND halyard.is_full_per_daemon(queue.id, definition.kind)
                               THEN 'queue ' || queue.name || ' is at its limit of ' || queue.limit_per_daemon
                                    || ' per daemon'
                               ELSE 'waits for its turn in queue ' || queue.name
                          END
                  END AS reason
        FROM      (SELECT job FROM halyard.blocked UNION ALL SELECT job FROM halyard.scheduled
                   UNION ALL SELECT job FROM halyard.ready) AS open
        JOIN      halyard.record ON record.id = open.job
        JOIN      halyard.definition ON definition.id = record.definition
        JOIN      halyard.queue ON queue.id = record.queue;
        """

    /// The definitions and graph definitions that can be enqueued.
    private static let definitionsView = """
        CREATE VIEW halyard.definitions AS
        SELECT definition.name, 'definition' AS type, definition.revision, definition.kind, definition.queue,
               \(priority("definition.priority")) AS priority, definition.retry::json AS retry,
               definition.timeout_ms / 1000.0 AS timeout_seconds, definition.input::json AS input,
               halyard.iso(definition.updated_ms) AS updated, definition.summary,
               halyard.problem_of(definition.name) AS problem, NULL::json AS body, definition.program::json AS program
        FROM   halyard.definition
        WHERE  definition.replaced_ms IS NULL
        UNION ALL
        SELECT graph_definition.name, 'graph', graph_definition.revision, NULL, NULL, NULL, NULL, NULL, NULL,
               halyard.iso(graph_definition.updated_ms), graph_definition.summary,
               halyard.problem_of(graph_definition.name), graph_definition.body::json, NULL
        FROM   halyard.graph_definition
        WHERE  graph_definition.replaced_ms IS NULL;
        """

    /// The schedules, with their last and next times.
    private static let schedulesView = """
        CREATE VIEW halyard.schedules AS
        SELECT schedule.name AS schedule,
               CASE WHEN schedule.paused_ms IS NOT NULL THEN 'paused'
                    WHEN schedule.next_ms IS NULL THEN 'never' ELSE 'active' END AS state,
               schedule.body::json ->> 'definition' AS definition,
               (SELECT string_agg(value, '; ') FROM json_array_elements_text(schedule.body::json -> 'calendar'))
                   AS calendar,
               halyard.iso(schedule.next_ms) AS next, halyard.iso(schedule.last_ms) AS last,
               schedule.last_job, schedule.last_graph, halyard.iso(schedule.skipped_ms) AS skipped,
               halyard.iso(schedule.paused_ms) AS paused,
               CASE WHEN (schedule.body::json ->> 'persistent')::boolean THEN 'yes' ELSE 'no' END AS persistent,
               schedule.body::json ->> 'overlap' AS overlap, schedule.body::json -> 'input' AS input,
               schedule.summary, schedule.problem
        FROM   halyard.schedule;
        """

    private static let daemonsView = """
        CREATE VIEW halyard.daemons AS
        SELECT daemon.id AS daemon, daemon.name, daemon.host, daemon.version,
               CASE WHEN daemon.ended_ms IS NOT NULL THEN 'ended'
                    WHEN daemon.alive_until_ms <= extract(epoch FROM clock_timestamp()) * 1000 THEN 'silent'
                    ELSE 'alive' END AS state,
               halyard.iso(daemon.started_ms) AS started, halyard.iso(daemon.seen_ms) AS seen,
               halyard.iso(daemon.alive_until_ms) AS alive_until, halyard.iso(daemon.ended_ms) AS ended,
               (SELECT count(*) FROM halyard.running WHERE running.daemon = daemon.id) AS running,
               array_to_string(daemon.queues, ', ') AS queues,
               (SELECT string_agg(kind.name, ', ' ORDER BY kind.name COLLATE "C") FROM halyard.kind
                WHERE  kind.identity = daemon.identity
                AND    (daemon.kinds IS NULL OR kind.name = ANY (daemon.kinds))) AS kinds,
               (SELECT halyard.iso(since_ms) FROM halyard.drained WHERE drained.identity = daemon.identity) AS drained
        FROM   halyard.daemon;
        """
}
