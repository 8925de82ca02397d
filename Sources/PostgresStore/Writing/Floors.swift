import Jobs
import PostgreSQL

/// The place of a ready job in its lane.
struct Place: Comparable, Sendable {
    var txid: Int64
    var steady: Int64
    var job: Int64

    static let first = Place(txid: 0, steady: .min, job: 0)

    static func < (a: Place, b: Place) -> Bool { (a.txid, a.steady, a.job) < (b.txid, b.steady, b.job) }
}

/// Where the search of each lane begins, so that a claim passes no rows that are deleted but cannot be removed while an
/// old snapshot is held.
///
/// - F1: No row before a lane's floor exists, or will ever exist, except rows of the lane's transactions in ``open``:
///   rows are inserted with the number of their transaction, so they come after the first open transaction of the
///   snapshot that found the floor.
/// - F2: ``open`` contains, for each lane, every transaction up to the floor's that was in progress when the floor was
///   found. One is removed once a claim that looked at this lane, and whose snapshot saw the transaction ended, has
///   found no row of it before the floor. A claim that left the lane out says nothing about it.
/// - F3: No floor is after the snapshot that found it: transactions after that are not in ``open``, although some with
///   smaller numbers than this one may be in progress, and this one sees its own rows.
/// - F4: Because of F1 a floor is a fact, not a guess: it is stored for daemons that start later.
struct Floors {
    private(set) var lanes: [Int64: Place] = [:]
    private(set) var open: [Int64: Set<Int64>] = [:]
    /// Whether the stored floors were read.
    var isRead = false
    var storedAt: ContinuousClock.Instant?
    /// The number of jobs that were claimed since the floors were stored, which a daemon that starts now would pass.
    var claimed = 0

    init() {}

    func floor(of lane: Int64) -> Place { lanes[lane] ?? .first }

    /// Advances the floors after a claim has looked at lanes from their floors on.
    ///
    /// - Parameters:
    ///   - heads: The first row of each lane that was seen from its floor on, nil for none.
    ///   - late: Transactions of ``open``, by lane, of which the claim has seen rows before the floor.
    ///   - snapshot: A snapshot from before the claim's look.
    mutating func advance(heads: [Int64: Place?], late: [Int64: Set<Int64>], _ snapshot: Snapshot) {
        for (lane, head) in heads {
            // F3
            let end = Place(txid: snapshot.xmax, steady: .min, job: 0)
            let next = max(min(head ?? end, end), floor(of: lane))
            lanes[lane] = next
            // A transaction after the floor's has no row before it.
            let left = (open[lane] ?? []).filter { late[lane]?.contains($0) ?? false || snapshot.isOpen($0) }
            open[lane] = left.union(snapshot.inProgress.filter { $0 <= next.txid })
        }
    }

    /// The text that is stored by a transaction. Floors after it are lowered to it: a server that crashes or is replaced
    /// keeps the transaction's number if it keeps the text, but it may give later numbers again.
    func text(storedBy transaction: Int64) -> String {
        let entries = lanes.map { lane, floor in
            let floor = min(floor, Place(txid: transaction, steady: .min, job: 0))
            let numbers = [lane, floor.txid, floor.steady, floor.job] + (open[lane] ?? []).sorted()
            return numbers.map(String.init).joined(separator: ":")
        }
        return entries.sorted().joined(separator: ",")
    }

    /// Reads a stored text. Nil if it is invalid; every search then begins at the first row.
    init?(_ text: String, xmax: Int64) {
        for entry in text.split(separator: ",") {
            let texts = entry.split(separator: ":", omittingEmptySubsequences: false)
            let numbers = texts.compactMap { Int64($0) }
            // In a database that was copied to another server, transactions have other numbers.
            guard numbers.count == texts.count, numbers.count >= 4, numbers[1] <= xmax else { return nil }
            lanes[numbers[0]] = Place(txid: numbers[1], steady: numbers[2], job: numbers[3])
            open[numbers[0]] = Set(numbers[4...])
        }
    }
}

/// The transactions that a statement sees as ended.
struct Snapshot {
    let xmin: Int64
    let xmax: Int64
    let inProgress: Set<Int64>

    /// Reads the text of a `pg_snapshot`.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let xmin = Int64(parts[0]), let xmax = Int64(parts[1]) else { return nil }
        self.xmin = xmin
        self.xmax = xmax
        inProgress = Set(parts[2].split(separator: ",").compactMap { Int64($0) })
    }

    func isOpen(_ transaction: Int64) -> Bool { transaction >= xmax || inProgress.contains(transaction) }
}

extension Writer {
    /// Reads the newest stored floors, once after each connection.
    func readFloors() throws(PostgresError) {
        if memory.floors.isRead { return }
        let row = try run(Statements.read).first
        if let row, let floors = Floors(row.string(0), xmax: row.integer(1)) { memory.floors = floors }
        // A copied database may contain rows with numbers that its server has not reached yet; they would hide later
        // rows from a floor.
        try run(Statements.rebase)
        memory.floors.isRead = true
    }

    /// Stores the floors from time to time.
    func storeFloors(claimed: Int) throws(PostgresError) {
        memory.floors.claimed += claimed
        let now = ContinuousClock.now
        let isOld = memory.floors.storedAt.map { now - $0 > .seconds(1) } ?? true
        guard memory.floors.claimed >= 1000 || (isOld && memory.floors.claimed > 0) else { return }
        memory.floors.storedAt = now
        memory.floors.claimed = 0
        let own = try run(Statements.own).first?.integer(0) ?? 0
        try run(Statements.write, .text(memory.floors.text(storedBy: own)))
    }

    private enum Statements {
        static let read = Statement(
            """
            SELECT   body, pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            FROM     halyard.floor
            ORDER BY id DESC
            LIMIT    1
            """)
        static let rebase = Statement(
            """
            UPDATE halyard.ready
            SET    txid = pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            WHERE  txid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            """)
        static let own = Statement("SELECT pg_current_xact_id()::text::bigint")
        /// Deletes older rows, which are of no use, within a range that contains few deleted ones.
        static let write = Statement(
            """
            WITH old AS (
                DELETE FROM halyard.floor
                WHERE id BETWEEN (SELECT max(id) FROM halyard.floor) - 40 AND (SELECT max(id) FROM halyard.floor) - 20
            )
            INSERT INTO halyard.floor (body) VALUES ($1::text)
            """)
    }
}
