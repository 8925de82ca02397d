import Jobs
import PostgreSQL
import StoreParts

/// The state that a writer keeps between transactions. A rollback restores it.
struct Memory {
    var shares = FairShare()
    /// Trials of jobs that were running in several crashes. They are not stored: each rescue derives them from the
    /// attempts.
    var trials = CrashTrials()
    var floors = Floors()
    var dueFloors = DueFloors()
    /// The numbers of running jobs of this store's lives, by life and queue.
    var running: [HolderID: [Int64: Int]] = [:]
    /// When unused slots of each queue were last taken back, and how long to wait before the next time.
    var reclaims: [Int64: (at: ContinuousClock.Instant, pause: Duration)] = [:]
    /// Whether ``running`` must be read from the database, since a commit was not answered.
    var mustCount = false
    /// Ranges of history. Some may be missing, and some may have been dropped.
    var ranges: [Range<Int64>] = []
    /// The end of the range of history that contains the last number of a job that this writer took; 0 if it is unknown.
    var rangeEnd: Int64 = 0
    /// Whether the folded counts fit the numbers of this server's transactions.
    var areFoldsRebased = false
}

extension Writer {
    func addRunning(_ count: Int, holder: HolderID, queue: Int64) {
        memory.running[holder, default: [:]][queue, default: 0] += count
    }

    /// Reads the numbers of running jobs of a life that claims for the first time on this connection.
    func knowRunning(_ holder: HolderID) throws(PostgresError) {
        if memory.running[holder] != nil { return }
        memory.running[holder] = [:]
        try countRunning()
    }

    /// Reads the numbers of running jobs of this store's lives.
    func countRunning() throws(PostgresError) {
        let lives = memory.running.keys.map(\.rawValue)
        for holder in memory.running.keys { memory.running[holder] = [:] }
        try run(Statements.running, .integers(lives)).forEach { row in
            memory.running[HolderID(row.integer(0)), default: [:]][row.integer(1)] = row.int(2)
        }
        memory.mustCount = false
    }

    private enum Statements {
        static let running = Statement(
            """
            SELECT   running.daemon, lane.queue, count(*)
            FROM     halyard.running
            JOIN     halyard.lane ON lane.id = running.lane
            WHERE    running.daemon = ANY ($1::bigint[])
            GROUP BY running.daemon, lane.queue
            """)
    }
}
