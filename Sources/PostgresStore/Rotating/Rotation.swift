/// The state of one hot table's rotation, as one daemon has seen it. A daemon that starts begins with the first phase, so
/// nothing about a rotation is stored but the current half.
///
/// - R1: A row may be inserted into either half at any time. Only space depends on the choice, so a transaction uses the
///   half that was current when it began.
/// - R2: TRUNCATE also hides rows from transactions whose older snapshots still contain them. So a half is emptied only
///   after it has been empty for the grace: a transaction that has used the table is waited for, and one that has not
///   finds nothing missing if its snapshot is younger than that.
/// - R3: The grace begins when every transaction that may have chosen this half has ended and no row is left in it.
/// - R4: Whoever waits for the lock of TRUNCATE stops all daemons. So the wait is short, and begins only if no transaction
///   that uses the half has been open since the last look.
struct Rotation {
    enum Phase: Equatable {
        /// The other half may have been in use before this daemon looked.
        case unknown
        /// Waits for transactions that may insert into the other half.
        case closing(Set<String>)
        /// Waits until all rows have left the other half, and moves those that stay. Rows from this job on were moved.
        case draining(since: ContinuousClock.Instant, movedFrom: Int64)
        /// No row has been in the other half for a while. The users are the transactions that used it at the last look.
        case empty(since: ContinuousClock.Instant, users: Set<String>?)
    }

    /// The half that takes new rows.
    private(set) var current: Int
    /// The file of the other half, which changes when it is emptied.
    private(set) var file: Int64
    /// The size of the current half from which on its rows are counted.
    var limit: Int64
    var phase = Phase.unknown

    init(current: Int, file: Int64, limit: Int64) {
        self.current = current
        self.file = file
        self.limit = limit
    }

    /// Begins again if another daemon has changed the halves.
    mutating func see(current: Int, file: Int64, limit: Int64) {
        if current != self.current || file != self.file {
            self = Rotation(current: current, file: file, limit: limit)
        }
    }

    var other: Int { 1 - current }
}
