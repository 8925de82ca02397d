import Jobs
import SQLite

/// The time scale of waits: milliseconds that pass as time does, whatever happens to the wall clock.
///
/// - C1: It never goes back in one process, nor from one start to the next: a start begins at the latest time that the
///   database has seen, or later. So no wait lasts longer than it was asked for, but for time in which the database saw
///   nothing before the machine was switched off.
/// - C2: Within one boot of the machine it is exact, also over restarts of the process.
/// - C3: What passed while the machine was off is what the wall clock says.
struct SteadyClock {
    /// The row of table `clock`.
    struct Row: Equatable {
        var boot: String
        /// This scale at the boot.
        var origin: Int64
        /// The wall clock less this scale, for people.
        var skew: Int64
    }

    /// A difference to the stored skew up to which nothing is written.
    private static let tolerance: Int64 = 500

    private let clock: any StoreClock
    private var row: Row?
    private var stored: Row?
    /// Milliseconds, as of the last ``read()``.
    private(set) var now: Int64 = 0

    init(_ clock: any StoreClock) { self.clock = clock }

    /// - Parameter seen: The latest time that the database has seen.
    mutating func remember(_ stored: Row, seen: Int64) {
        self.stored = stored
        // What this process has decided stays, also when the transaction that was to store it was rolled back.
        if row == nil { row = Self.start(from: stored, seen: seen, clock) }
    }

    private static func start(from stored: Row, seen: Int64, _ clock: any StoreClock) -> Row {
        let sinceBoot = clock.sinceBoot.milliseconds
        // A boot with less time than was seen is another one by the same name: a copy of a machine, or a container.
        if !stored.boot.isEmpty, stored.boot == clock.boot, stored.origin + sinceBoot >= seen { return stored }
        let now = max(clock.wall.milliseconds - stored.skew, seen)
        return Row(boot: clock.boot, origin: now - sinceBoot, skew: stored.skew)
    }

    mutating func read() {
        guard let row else { preconditionFailure("the clock was remembered before the first transaction") }
        now = max(now, row.origin + clock.sinceBoot.milliseconds)
    }

    /// Whoever reads the wait's end sees it on the wall clock of the caller.
    mutating func notesWait(now wall: Timestamp) { row?.skew = wall.milliseconds - now }

    /// Notices that the wall clock was set.
    mutating func notes(wall: Timestamp) {
        let skew = wall.milliseconds - now
        if let row, abs(skew - row.skew) > Self.tolerance { self.row?.skew = skew }
    }

    /// What the database does not say yet; to be written in the running transaction.
    mutating func takeChange() -> Row? {
        guard row != stored else { return nil }
        stored = row
        return row
    }
}

struct ClockStatements: ~Copyable {
    static let readSQL: StaticString = """
        SELECT boot, origin_ms, skew_ms, (SELECT max(steady_ms) FROM tally)
        FROM   clock
        WHERE  id = 1
        """
    static let writeSQL: StaticString = """
        UPDATE clock
        SET    boot = ?1, origin_ms = ?2, skew_ms = ?3
        WHERE  id = 1
        """

    private let row: Statement
    private let update: Statement

    init(_ connection: Connection) {
        row = connection.prepare(Self.readSQL)
        update = connection.prepare(Self.writeSQL)
    }

    func read(into clock: inout SteadyClock) throws(SQLiteError) {
        guard try row.step() else {
            throw SQLiteError(code: SQLiteError.Primary.corrupt.rawValue, message: "the row of table clock is missing")
        }
        let stored = SteadyClock.Row(boot: row.string(0), origin: row.integer(1), skew: row.integer(2))
        let seen = row.integer(3)
        row.reset()
        clock.remember(stored, seen: seen)
    }

    func write(_ clock: SteadyClock.Row) throws(SQLiteError) {
        try update.bind(1, clock.boot)
        update.bind(2, clock.origin)
        update.bind(3, clock.skew)
        try update.run()
    }
}
