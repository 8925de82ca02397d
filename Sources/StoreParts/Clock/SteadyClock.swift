import Jobs

/// The time scale for waits: milliseconds of real time, unaffected when the wall clock is set.
///
/// - C1: It never goes backwards, neither within a process nor across restarts: a new process starts at the latest time
///   that the database has recorded, or later. So a wait is never longer than requested, except by the time between the
///   database's last write and the moment the machine was switched off.
/// - C2: It is exact within one boot of the machine, even across restarts of the process.
/// - C3: The wall clock determines how much time passed while the machine was off.
package struct SteadyClock {
    /// The row of table `clock`.
    package struct Row: Equatable {
        package var boot: String
        /// The value of this scale at boot.
        package var origin: Int64
        /// The wall clock minus this scale; the views use it to show times.
        package var skew: Int64

        package init(boot: String, origin: Int64, skew: Int64) {
            self.boot = boot
            self.origin = origin
            self.skew = skew
        }
    }

    /// The skew is updated only if it has changed by more than this. When a wait begins, ``rounding`` applies instead.
    private static let tolerance: Int64 = 500
    /// The tolerance when a wait begins: both clocks are rounded to milliseconds, so their difference varies by one.
    private static let rounding: Int64 = 1

    private let clock: any StoreClock
    private var row: Row?
    private var stored: Row?
    /// Milliseconds, as of the last ``read()``.
    package private(set) var now: Int64 = 0
    package var moment: Timestamp { Timestamp(milliseconds: now) }
    /// Whether the machine was restarted between the last process that wrote to the database and this one.
    package private(set) var isOfNewBoot = false

    package init(_ clock: any StoreClock) { self.clock = clock }

    /// Adopts the stored row, or begins a new one if the machine was restarted.
    ///
    /// - Parameter seen: The latest time, on this scale, that the database has recorded.
    package mutating func remember(_ stored: Row, seen: Int64) {
        self.stored = stored
        // Keep this process's row even if the transaction that should have stored it was rolled back.
        if row == nil {
            let row = Self.start(from: stored, seen: seen, clock)
            isOfNewBoot = !stored.boot.isEmpty && row != stored
            self.row = row
        }
    }

    private static func start(from stored: Row, seen: Int64, _ clock: any StoreClock) -> Row {
        let sinceBoot = clock.sinceBoot.milliseconds
        // Less time since boot than the database has recorded means another boot with the same id: a cloned machine or
        // a container.
        if !stored.boot.isEmpty, stored.boot == clock.boot, stored.origin + sinceBoot >= seen { return stored }
        let now = max(clock.wall.milliseconds - stored.skew, seen)
        return Row(boot: clock.boot, origin: now - sinceBoot, skew: stored.skew)
    }

    package mutating func read() {
        guard let row else { preconditionFailure("the clock must be loaded before the first transaction") }
        now = max(now, row.origin + clock.sinceBoot.milliseconds)
    }

    /// The end of a wait as a time on the current wall clock. Reads the wall clock itself, because the caller's time
    /// may be from before the clock was set.
    package func wallTime(ofWaitEnd end: Timestamp) -> Timestamp {
        let wall = clock.wall
        guard let row else { preconditionFailure("the clock must be loaded before the first transaction") }
        let now = Timestamp(milliseconds: row.origin + clock.sinceBoot.milliseconds)
        return wall + (end - now)
    }

    /// Updates the skew, so that the views show the end of a new wait on the caller's wall clock.
    package mutating func notesWait(now wall: Timestamp) { adjustSkew(to: wall, tolerance: Self.rounding) }

    /// Updates the skew if the wall clock was set.
    package mutating func notes(wall: Timestamp) { adjustSkew(to: wall, tolerance: Self.tolerance) }

    private mutating func adjustSkew(to wall: Timestamp, tolerance: Int64) {
        let skew = wall.milliseconds - now
        if let row, abs(skew - row.skew) > tolerance { self.row?.skew = skew }
    }

    /// The row, if it differs from the stored one; the caller writes it in the running transaction.
    package mutating func takeChange() -> Row? {
        guard row != stored else { return nil }
        stored = row
        return row
    }
}
