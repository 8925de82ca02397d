import Jobs
import PostgreSQL
import StoreParts

/// A connection that writes, with what it remembers about the database. Only its own thread uses it.
///
/// Each verb is an extension in its own folder, next to its statements. A verb runs inside a transaction that
/// ``GroupCommit`` begins and commits. It may run again after a rollback, so it keeps nothing outside ``memory`` and the
/// changes of the transaction.
final class Writer {
    let link: Link
    var time: StoreTime
    /// Measured by each transaction; nil if the server's clock does not count.
    private let offset: ClockOffset?
    let options: PostgresStoreOptions
    /// The number of this store's listener.
    let listener: Int64
    /// The identifier of this machine's boot.
    let boot: String
    var memory = Memory()
    private var memoryAtBegin = Memory()
    /// The queues, definitions and lanes of the database; nil until they are read.
    var catalog: Catalog?
    /// The statements that start jobs of one range of history, by the range's first number and the half of `running`.
    var starts: [Int64: [Statement]] = [:]
    private var catalogAtBegin: Catalog?

    // MARK: The running transaction

    /// The halves of hot tables that take new rows (S4).
    private var halves: Int64 = 0
    var tallies: [Int64: TallyChange] = [:]
    /// Whether other stores hear of this store's commits.
    private(set) var isHeard = false
    /// Whether there are observers, here or in other stores. Without them, changes to jobs are not recorded.
    var isObserved = false
    var jobChanges: [JobChange] = []
    var queuesChanged = false
    var definitionsChanged = false
    var schedulesChanged = false
    var holdersChanged = false
    /// Whether plans may differ although no definition has changed: a queue was created or removed, or a daemon registers its
    /// kinds, and an older release may have compiled the plans.
    var mustWritePlans = false
    /// The number of changes to the counts of each subject that this writer has made since it was folded.
    var unfolded: [Int64: Int] = [:]
    /// The subjects whose counts consist of so many changes that they should be folded.
    var foldable: Set<Int64> = []

    init(
        _ link: Link, listener: Int64, clock: (any StoreClock)?, offset: ClockOffset?, options: PostgresStoreOptions
    ) {
        self.link = link
        self.offset = offset
        self.listener = listener
        self.options = options
        time = StoreTime(clock)
        boot = (clock?.boot ?? options.boot ?? currentBoot()).filter { $0 != "-" }
    }

    /// The running transaction's connection.
    var connection: Connection {
        get throws(PostgresError) { try link.connection() }
    }

    @discardableResult
    func run(_ statement: Statement, _ arguments: Argument...) throws(PostgresError) -> Rows {
        try link.connection().run(statement, arguments)
    }

    /// Runs a statement together with the next one, in one round trip.
    func putOff(_ statement: Statement, _ arguments: Argument...) throws(PostgresError) {
        try link.connection().putOff(statement, arguments)
    }

    /// Begins a transaction.
    ///
    /// - Parameters:
    ///   - isObserved: Whether to record the changes to jobs for observers.
    ///   - excludesAdding: Whether to wait for the transactions that add jobs and to keep others from beginning. All
    ///     daemons wait with it, so it does not wait long for a program that adds jobs in a long transaction of its own.
    func begin(isObserved: Bool, excludesAdding: Bool = false) throws(PostgresError) {
        // A server that has crashed, or another one that took its place, may give the same numbers to other
        // transactions, so that floors would hide their rows.
        if !link.isOpen {
            memory.floors = Floors()
            memory.dueFloors = DueFloors()
            memory.areFoldsRebased = false
            memory.rangeEnd = 0
            memory.ranges = []
        }
        memoryAtBegin = memory
        catalogAtBegin = catalog
        let connection = try connection
        let start = offset?.start()
        connection.putOff(Statements.begin)
        connection.putOff(excludesAdding ? Statements.excludeAdding : Statements.shareAdding)
        let row = try connection.run(Statements.facts, [.integer(listener)])[0]
        isHeard = row.boolean(6)
        self.isObserved = isObserved || isHeard
        if let server = time.server {
            server.read(row.integer(0))
            if let start { offset?.measured(server.wall, since: start) }
            time.steady.remember(SteadyClock.Row(boot: server.boot, origin: 0, skew: 0), seen: 0)
        } else {
            time.steady.remember(
                SteadyClock.Row(boot: row.string(2), origin: row.integer(3), skew: row.integer(4)), seen: row.integer(5)
            )
        }
        time.steady.read()
        try readCatalog(version: row.integer(1))
        // Lanes are never deleted, so a new one of another connection changes their number.
        if known.lanes.count != row.integer(7) { try readLanes() }
        catalogAtBegin = catalog
        halves = row.integer(8)
        if memory.mustCount { try countRunning() }
        if !memory.areFoldsRebased { try rebaseFolds() }
    }

    /// Writes what the transaction has collected.
    func flush() throws(PostgresError) {
        try writeTallies()
        if definitionsChanged || mustWritePlans { try writePlans() }
        if time.server == nil {
            let row = time.steady.takeChange()
            try putOff(
                Statements.writeClock, .text(row?.boot), .integer(row?.origin), .integer(row?.skew),
                .integer(time.steady.now))
        }
    }

    /// Commits the transaction. If the connection breaks meanwhile, it is unknown whether the transaction is stored.
    ///
    /// - Throws: `PostgresError`; if `isOfEarlierStatement` is true, the transaction is not stored.
    func commit() throws(PostgresError) {
        try connection.run(Statements.commit)
        memoryAtBegin = memory
        catalogAtBegin = catalog
    }

    /// Undoes the transaction, in the database and in memory.
    func rollBack() throws(PostgresError) {
        forgetChanges()
        memory = memoryAtBegin
        catalog = catalogAtBegin
        if link.isOpen {
            try connection.dropPutOff()
            try connection.run("ROLLBACK")
        }
    }

    /// Forgets what the lost connection may or may not have written.
    func connectionLost() {
        forgetChanges()
        memory = memoryAtBegin
        memory.mustCount = true
        catalog = nil
    }

    /// Returns the committed changes for the observers.
    func takeChanges() -> [StoreChange] {
        var changes: [StoreChange] = []
        if !jobChanges.isEmpty { changes.append(.jobs(jobChanges)) }
        if queuesChanged { changes.append(.queues) }
        if definitionsChanged { changes.append(.definitions) }
        if schedulesChanged { changes.append(.schedules) }
        if holdersChanged { changes.append(.holders) }
        return changes
    }

    /// Tells other stores what a commit has changed. A statement of its own: a commit with a notification takes a lock
    /// over the whole database. A lost notification delays other daemons until they look by themselves.
    func tellOthers(_ changes: [StoreChange]) throws(PostgresError) {
        guard isHeard else { return }
        let texts = Notice.texts(changes, from: listener)
        if !texts.isEmpty { try run(Statements.notify, .texts(texts)) }
    }

    func forgetChanges() {
        tallies.removeAll(keepingCapacity: true)
        jobChanges.removeAll(keepingCapacity: true)
        queuesChanged = false
        definitionsChanged = false
        schedulesChanged = false
        holdersChanged = false
        mustWritePlans = false
    }

    /// The half of a table that takes this transaction's rows.
    func half(_ table: HotTable) -> Int { Int(halves >> Int64(table.bit) & 1) }

    // MARK: Recording changes

    /// Counts the move of jobs from one state to another; from nil for new jobs, to nil for those that are deleted.
    func count(
        queue: Int64, graph: GraphID?, from old: JobState?, to new: JobState?, now: Timestamp, jobs: Int64 = 1
    ) {
        tallies[-queue, default: TallyChange(at: now)].move(jobs, from: old, to: new, now: now)
        if let graph { tallies[graph.rawValue, default: TallyChange(at: now)].move(jobs, from: old, to: new, now: now) }
    }

    /// Records a job's change for the observers, if there are any.
    func note(
        _ job: JobID, graph: GraphID?, state: JobState, attempt: Int, isCancelRequest: Bool = false,
        dueAt: Timestamp? = nil, cause: JobChange.Cause? = nil, input: JSONText? = nil
    ) {
        guard isObserved else { return }
        jobChanges.append(
            JobChange(
                job: job, graph: graph, state: state, attempt: attempt, isCancelRequest: isCancelRequest, dueAt: dueAt,
                cause: cause, input: input))
    }

    private enum Statements {
        static let begin = Statement("BEGIN ISOLATION LEVEL READ COMMITTED")
        static let commit = Statement("COMMIT")
        static let shareAdding = adding("pg_advisory_xact_lock_shared", lockTimeout: "10s")
        static let excludeAdding = adding("pg_advisory_xact_lock", lockTimeout: "1s")
        /// A separate statement: a statement that waits for a lock sees only the data from before its wait.
        static let facts = Statement(
            """
            SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, settings.version,
                   clock.boot, clock.origin_ms, clock.skew_ms, clock.seen_ms,
                   EXISTS (SELECT 1 FROM halyard.listener WHERE id <> $1::bigint),
                   (SELECT count(*) FROM halyard.lane), (SELECT last_value FROM halyard.halves)
            FROM   halyard.settings
            JOIN   halyard.clock ON clock.id = 1
            """)
        static let notify = Statement("SELECT pg_notify('halyard', text) FROM unnest($1::text[]) AS text")
        static let writeClock = Statement(
            """
            UPDATE halyard.clock
            SET    boot = coalesce($1::text, boot), origin_ms = coalesce($2::bigint, origin_ms),
                   skew_ms = coalesce($3::bigint, skew_ms), seen_ms = $4::bigint
            WHERE  id = 1
            """)

        /// Applies the transaction's settings, and takes the lock of transactions that add jobs. The server ends a
        /// transaction whose daemon is frozen or cut off: its locks would stop the other daemons.
        private static func adding(_ lock: String, lockTimeout: String) -> Statement {
            Statement(
                """
                SELECT \(PinnedPlans.calls),
                       set_config('lock_timeout', '\(lockTimeout)', true),
                       set_config('idle_in_transaction_session_timeout', '15s', true),
                       \(lock)(\(AdvisoryLock.adding))
                """)
        }
    }
}
