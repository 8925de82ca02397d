import Jobs
import PostgreSQL
import StoreParts

/// A connection that only reads. Only its own thread uses it.
final class Reader {
    private let link: Link
    private var time: StoreTime

    init(_ link: Link, clock: (any StoreClock)?) {
        self.link = link
        time = StoreTime(clock)
    }

    @discardableResult
    func run(_ statement: Statement, _ arguments: Argument...) throws(PostgresError) -> Rows {
        try link.connection().run(statement, arguments)
    }

    /// Runs a statement that may take longer than others (``PostgresStoreOptions/patience``).
    func runPatiently(_ statement: Statement, _ arguments: Argument...) throws(PostgresError) -> Rows {
        let connection = try link.connection()
        let usual = connection.answerTimeout
        connection.answerTimeout = usual * PostgresStoreOptions.patience
        defer { connection.answerTimeout = usual }
        return try connection.run(statement, arguments)
    }

    /// Closes the connection; the next read makes a new one.
    func disconnect() { link.close() }

    /// Runs `body` in one snapshot of the database.
    func snapshot(_ body: () throws(PostgresError) -> Void) throws(PostgresError) {
        try transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(PinnedPlans.sql)", body)
    }

    /// Runs `body` in one transaction.
    ///
    /// - Parameter beginning: The statements that begin it.
    func transaction(
        _ beginning: String, _ body: () throws(PostgresError) -> Void
    ) throws(PostgresError) {
        let connection = try link.connection()
        try connection.run(beginning)
        do throws(PostgresError) {
            try body()
            try connection.run("COMMIT")
        } catch {
            // A connection that cannot roll back is lost, and its next use reports that.
            if connection.isOpen { _ = try? connection.run("ROLLBACK") }
            throw error
        }
    }

    /// The current time.
    func now(_ passed: Timestamp) throws(PostgresError) -> Timestamp {
        try readClock()
        return time.now(passed)
    }

    /// The current time on the steady scale.
    func steadyNow() throws(PostgresError) -> Int64 {
        try readClock()
        return time.steady.now
    }

    /// The time for ``Writer/lasts(_:)``.
    func lifeClock() throws(PostgresError) -> Argument { time.server == nil ? .integer(try steadyNow()) : .null }

    private func readClock() throws(PostgresError) {
        guard let row = try run(Statements.clock).first else {
            throw PostgresError(.unexpected, message: "the row of table clock is missing")
        }
        if let server = time.server {
            server.read(row.integer(0))
            time.steady.remember(SteadyClock.Row(boot: server.boot, origin: 0, skew: 0), seen: 0)
        } else {
            time.steady.remember(
                SteadyClock.Row(boot: row.string(1), origin: row.integer(2), skew: row.integer(3)),
                seen: row.integer(4))
        }
        time.steady.read()
    }

    private enum Statements {
        static let clock = Statement(
            """
            SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, boot, origin_ms, skew_ms, seen_ms
            FROM   halyard.clock
            WHERE  id = 1
            """)
    }
}

/// Carries out read requests, each one in a snapshot of its own.
final class ReadLoop: RequestHandler {
    private let reader: Reader
    private let server: String

    init(_ reader: Reader, server: String) {
        self.reader = reader
        self.server = server
    }

    func carryOut(_ batch: [any Request<Reader>]) {
        for request in batch {
            do throws(PostgresError) {
                do throws(PostgresError) {
                    try reader.snapshot { () throws(PostgresError) in try request.run(with: reader) }
                } catch {
                    // A connection may have been closed while it was idle, and a read can be repeated.
                    guard error.cause == .lost || error.isStale else { throw error }
                    if error.isStale { reader.disconnect() }
                    try reader.snapshot { () throws(PostgresError) in try request.run(with: reader) }
                }
                request.answer(nil)
            } catch {
                request.answer(StoreError(error, server: server, phase: .running))
            }
        }
    }

    func finish() {}
    var moreWork: MoreWork { .none }
}
