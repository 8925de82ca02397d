import Jobs
import PostgreSQL

/// A job that is now final, whose dependents are to be released or skipped.
struct FinalJob {
    var job: JobID
    var outcome: Outcome
    /// The identity of the daemon that keeps the file that is the job's result; nil without such a file.
    var home: String?
}

/// A row of table `done`.
struct DoneRow {
    var row: OpenRow
    var outcome: Outcome
    /// The attempt that the result comes from; 0 for none.
    var attempt: Int
    var pending = 0
    var value: JSONText?
    var failure: JobFailure?
    var cancelAt: Timestamp?
    var connections: JSONText?
    var usage: AttemptUsage?

    init(
        _ row: OpenRow, _ outcome: Outcome, attempt: Int, pending: Int = 0, value: JSONText?, failure: JobFailure?,
        cancelAt: Timestamp?, connections: JSONText? = nil, usage: AttemptUsage? = nil
    ) {
        self.row = row
        self.outcome = outcome
        self.attempt = attempt
        self.pending = pending
        self.value = value
        self.failure = failure
        self.cancelAt = cancelAt
        self.connections = connections
        self.usage = usage
    }
}

/// A row of table `attempt`.
struct AttemptRow {
    var row: OpenRow
    var outcome: AttemptOutcome
    var failure: JobFailure
    var retryAt: Timestamp?
    var connections: JSONText?
    var usage: AttemptUsage?

    init(
        _ row: OpenRow, _ outcome: AttemptOutcome, _ failure: JobFailure, retryAt: Timestamp?, connections: JSONText?,
        usage: AttemptUsage?
    ) {
        self.row = row
        self.outcome = outcome
        self.failure = failure
        self.retryAt = retryAt
        self.connections = connections
        self.usage = usage
    }
}

/// The rows that the ends of attempts lead to, table by table.
struct EndRows {
    /// The identity of the daemon that ran the attempts; nil if it has died.
    var home: String?
    var done: [DoneRow] = []
    var attempts: [AttemptRow] = []
    var scheduled: [OpenRow] = []
    var ready: [OpenRow] = []
    var final: [FinalJob] = []
}

extension Writer {
    /// Writes the rows, and releases or skips the dependents of final jobs.
    func write(_ rows: EndRows, now: Timestamp) throws(PostgresError) {
        try recordAttempts(rows.attempts, now: now)
        try recordDone(rows.done, now: now)
        try schedule(rows.scheduled)
        try makeReady(rows.ready)
        try recordKept(rows.final.filter { $0.home != nil })
        try settle(rows.final, now: now)
    }

    private func recordAttempts(_ rows: [AttemptRow], now: Timestamp) throws(PostgresError) {
        if rows.isEmpty { return }
        try putOff(
            Statements.attempts, .jobs(rows.map(\.row.job)), .integers(rows.map { Int64($0.row.attempt) }),
            .integers(rows.map { Int64($0.outcome.rawValue) }), .times(rows.map(\.row.startedAt)), .time(now),
            .texts(rows.map(\.failure.code)), .texts(rows.map(\.failure.message)), .jsons(rows.map(\.failure.detail)),
            .times(rows.map(\.retryAt)), .jsons(rows.map(\.connections)), .jsons(rows.map { $0.usage?.json }))
    }

    /// Records the results of final jobs, and deletes their checkpoints.
    func recordDone(_ rows: [DoneRow], now: Timestamp) throws(PostgresError) {
        if rows.isEmpty { return }
        try putOff(
            Statements.done, .jobs(rows.map(\.row.job)), .integers(rows.map { Int64($0.outcome.rawValue) }),
            .integers(rows.map { Int64($0.attempt) }), .integers(rows.map { Int64($0.row.attempt) }),
            .integers(rows.map { Int64($0.row.tries) }), .integers(rows.map { Int64($0.row.rescues) }),
            .integers(rows.map { Int64($0.pending) }), .times(rows.map(\.row.dueAt)),
            .times(rows.map(\.row.startedAt)), .time(now), .times(rows.map(\.cancelAt)), .jsons(rows.map(\.value)),
            .texts(rows.map(\.failure?.code)), .texts(rows.map(\.failure?.message)),
            .jsons(rows.map { $0.failure?.detail }), .jsons(rows.map(\.connections)),
            .jsons(rows.map { $0.usage?.json }))
    }

    private enum Statements {
        static let attempts = Statement(
            """
            INSERT INTO halyard.attempt (job, number, outcome, started_ms, ended_ms, code, message, detail, retry_ms,
                                         connections, usage)
            SELECT job, number, outcome, started_ms, $5::bigint, code, message, detail, retry_ms, connections, usage
            FROM   unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $6::text[], $7::text[], $8::text[],
                          $9::bigint[], $10::text[], $11::text[])
                   AS new (job, number, outcome, started_ms, code, message, detail, retry_ms, connections, usage)
            """)
        static let done = Statement(
            """
            WITH deleted AS (
                DELETE FROM halyard.checkpoint WHERE job = ANY ($1::bigint[])
            )
            INSERT INTO halyard.done (job, outcome, attempt, last_attempt, tries, rescues, pending, due_ms, started_ms,
                                      finished_ms, cancel_ms, value, code, message, detail, connections, usage)
            SELECT job, outcome, attempt, last_attempt, tries, rescues, pending, due_ms, started_ms,
                   $10::bigint, cancel_ms, value, code, message, detail, connections, usage
            FROM   unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                          $7::bigint[], $8::bigint[], $9::bigint[], $11::bigint[], $12::text[], $13::text[],
                          $14::text[], $15::text[], $16::text[], $17::text[])
                   AS new (job, outcome, attempt, last_attempt, tries, rescues, pending, due_ms, started_ms,
                           cancel_ms, value, code, message, detail, connections, usage)
            """)
    }
}
