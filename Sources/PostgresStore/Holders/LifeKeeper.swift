import Jobs
import PostgreSQL
import StoreParts

/// Renews lives on its own connection and thread, so that a write that waits for a lock delays no renewal.
final class LifeKeeper {
    private let reader: Reader
    private let length: Duration

    init(_ reader: Reader, length: Duration) {
        self.reader = reader
        self.length = length
    }

    /// How long to wait for an answer. The connection may have broken without a word, and a new one must be tried before
    /// the life ends.
    static func answerTimeout(of options: PostgresStoreOptions) -> Duration {
        min(options.answerTimeout, options.lifeLength / 6)
    }

    /// How long to wait for a connection to each host. A host that does not answer must leave time to try the next one.
    static func connectTimeout(of options: PostgresStoreOptions) -> Duration {
        min(options.connectTimeout, max(.seconds(2), options.lifeLength / 6))
    }

    /// Renews a life.
    ///
    /// - Returns: The renewal, and the running jobs of the life whose cancellation is requested: the notification of a
    ///   request may have been lost.
    func renew(_ holder: HolderID, now passed: Timestamp) throws(PostgresError) -> (Renewal, [JobChange]) {
        let now = Argument.time(try reader.now(passed))
        let clock = try reader.lifeClock()
        let length = Argument.integer(length.milliseconds)
        guard try reader.run(Statements.renew, .integer(holder.rawValue), now, length, clock).changes == 1 else {
            return (.ended, [])
        }
        let hasOrphans = try reader.run(LifeStatements.orphans, .integer(holder.rawValue), clock).first?.boolean(0)
        let cancelled = try reader.run(Statements.cancelled, .integer(holder.rawValue)).map { row in
            JobChange(
                job: row.job(0), graph: row.graph(1), state: .running, attempt: row.int(2), isCancelRequest: true)
        }
        return (.renewed(HolderLife(id: holder, length: self.length, hasOrphans: hasOrphans ?? false)), cancelled)
    }

    func noteAbandoned(_ count: Int, by holder: HolderID) throws(PostgresError) {
        try reader.run(Statements.abandoned, .integer(holder.rawValue), .integer(count))
    }

    /// Runs `body` in one transaction, which waits only for a moment for locks.
    func transaction(_ body: () throws(PostgresError) -> Void) throws(PostgresError) {
        try reader.transaction(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '15s'; \(PinnedPlans.sql)",
            body)
    }

    func disconnect() { reader.disconnect() }

    private enum Statements {
        static let renew = Statement(
            """
            UPDATE halyard.daemon
            SET    seen_ms = $2::bigint,
                   alive_until_ms = \(Writer.moment("$4")) + $3::bigint
            WHERE  id = $1::bigint
            AND    \(Writer.lasts("$4"))
            """)
        /// Reads only rows with a request, however many rows the daemon has deleted.
        static let cancelled = Statement(
            """
            SELECT job, graph, attempt
            FROM   halyard.running
            WHERE  daemon + 0 = $1::bigint
            AND    cancel_ms IS NOT NULL
            """)
        static let abandoned = Statement(
            "UPDATE halyard.daemon SET abandoned = $2::bigint WHERE id = $1::bigint")
    }
}

/// Statements about lives that several connections use.
enum LifeStatements {
    /// Whether another life has ended and left running jobs.
    static let orphans = Statement(
        """
        SELECT EXISTS (
            SELECT 1
            FROM   halyard.daemon
            WHERE  rescued_ms IS NULL
            AND    id <> $1::bigint
            AND    NOT (\(Writer.lasts("$2")))
            AND    EXISTS (SELECT 1 FROM halyard.running WHERE running.daemon = daemon.id))
        """)
}

/// Carries out the requests of lives, each in its own transaction. They can all be repeated, so a connection that breaks
/// is made again.
final class LifeRequestLoop: RequestHandler {
    private let keeper: LifeKeeper
    private let server: String

    init(_ keeper: LifeKeeper, server: String) {
        self.keeper = keeper
        self.server = server
    }

    func carryOut(_ batch: [any Request<LifeKeeper>]) {
        for request in batch {
            do throws(PostgresError) {
                do throws(PostgresError) {
                    try keeper.transaction { () throws(PostgresError) in try request.run(with: keeper) }
                } catch {
                    guard error.cause == .lost || error.isStale || error.isReadOnly else { throw error }
                    keeper.disconnect()
                    try keeper.transaction { () throws(PostgresError) in try request.run(with: keeper) }
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
