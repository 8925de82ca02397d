import Jobs

/// Where the search for due jobs begins, so that it passes few rows that are deleted but cannot be removed while an old
/// snapshot is held.
///
/// A transaction makes a job wait only for a later time, so new rows come after the time at which the oldest transaction
/// began. One that takes longer than ``lateness`` may insert rows before a floor; they are found by a search from the
/// beginning, which is made every ``period``.
struct DueFloors {
    private var calendar = Int64.min
    private var wait = Int64.min
    private var begunAt: ContinuousClock.Instant?

    /// Milliseconds.
    private static let lateness: Int64 = 2000
    private static let period = Duration.seconds(15)

    /// Returns the first calendar time and the first end of a wait to look at. A clock that was set back takes them with it.
    mutating func begin(
        now: Timestamp, steady: Timestamp, at moment: ContinuousClock.Instant = .now
    ) -> (calendar: Timestamp, wait: Timestamp) {
        if begunAt.map({ moment - $0 >= Self.period }) ?? true {
            self = DueFloors()
            begunAt = moment
        }
        return (
            Timestamp(milliseconds: min(calendar, now.milliseconds - Self.lateness)),
            Timestamp(milliseconds: min(wait, steady.milliseconds - Self.lateness))
        )
    }

    /// Advances the floors to the first rows that a search has found, nil for none.
    mutating func advance(calendar first: Timestamp?, wait firstWait: Timestamp?, now: Timestamp, steady: Timestamp) {
        calendar = min(first?.milliseconds ?? .max, now.milliseconds - Self.lateness)
        wait = min(firstWait?.milliseconds ?? .max, steady.milliseconds - Self.lateness)
    }
}
