import Jobs
import SQLite
import StoreParts

struct ClockStatements: StatementGroup {
    let row = Statement(
        """
        SELECT boot, origin_ms, skew_ms, (SELECT max(steady_ms) FROM tally)
        FROM   clock
        WHERE  id = 1
        """)
    let update = Statement(
        """
        UPDATE clock
        SET    boot = :boot, origin_ms = :origin, skew_ms = :skew
        WHERE  id = 1
        """)

    /// The range of plausible times: 100,000 years in each direction, so that sums and differences fit into 64 bits.
    private static let plausible = -3_200_000_000_000_000...Int64(3_200_000_000_000_000)

    func read(into clock: inout SteadyClock) throws(SQLiteError) {
        let found = try row.first {
            (row: SteadyClock.Row(boot: $0.string(0), origin: $0.integer(1), skew: $0.integer(2)), seen: $0.integer(3))
        }
        guard let found else { throw .damaged("the row of table clock is missing") }
        for number in [found.row.origin, found.row.skew, found.seen] where !Self.plausible.contains(number) {
            throw .damaged("the clock's row contains \(number) ms")
        }
        clock.remember(found.row, seen: found.seen)
    }

    func write(_ clock: SteadyClock.Row) throws(SQLiteError) {
        try update.run([.boot <- clock.boot, .origin <- clock.origin, .skew <- clock.skew])
    }
}
