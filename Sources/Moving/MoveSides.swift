import Jobs

/// A database from which jobs are moved. All calls block, and come from one thread.
///
/// No daemon can use the database while the value exists.
package protocol MoveSource: AnyObject {
    /// The database for people, without a password.
    var place: String { get }
    /// Identifies the database, also under another name.
    var key: String { get }
    /// Where the jobs are now, if they were moved before; nil if they are here.
    var mark: MoveMark? { get }

    /// Ends the attempts of daemons that have died, and does what a daemon would do when it starts. After this call,
    /// nothing changes in the database.
    ///
    /// - Throws: ``MoveFailure``, or an error of the database.
    func settle() throws

    /// The clock of the database.
    func clock() throws -> MoveClock

    /// Reads all rows of a table, in its order (M1).
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws

    /// Records where the jobs are now. No daemon uses the database again, and no program enqueues there.
    func markMoved(_ mark: MoveMark) throws
}

/// A database to which jobs are moved. All calls block, and come from one thread.
///
/// No daemon can use the database from ``begin(_:_:)`` to ``finish()``, even if this process dies in between.
package protocol MoveTarget: AnyObject {
    /// The database for people, without a password.
    var place: String { get }
    /// Identifies the database, also under another name.
    var key: String { get }
    /// The contents of the database.
    var content: MoveContent { get }

    /// Prepares an empty database. Removes the rows of an unfinished move, and sets aside a database whose jobs were moved.
    ///
    /// - Parameter mark: Names the source.
    func begin(_ mark: MoveMark, _ clock: MoveClock) throws

    /// Adds rows. Tables come in the order of ``Facts``.
    func add(_ batch: FactBatch) throws

    /// Derives other data from the rows, and checks them. Called after the last row.
    func complete() throws

    /// Reads all rows of a table, in its order (M1).
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws

    /// Records that both databases are equal. After this, another process may call ``finish()``.
    func markVerified() throws

    /// Lets daemons use the database.
    func finish() throws
}

/// The contents of a target before the move.
package enum MoveContent: Sendable, Hashable {
    case nothing
    /// Rows of a move that did not end.
    case unfinished(MoveMark)
    /// Jobs that were moved away.
    case moved(MoveMark)
    /// Anything else; the value names it, such as `definitions`.
    case jobs(String)
}

/// The record of a move in one of its databases.
package struct MoveMark: Sendable, Hashable {
    /// Identifies the move.
    package var id: String
    /// ``MoveSource/key`` of the other database.
    package var key: String
    /// The other database for people, without a password.
    package var place: String
    /// When the move began.
    package var at: Timestamp
    /// Whether both databases were found to be equal.
    package var isVerified: Bool

    package init(id: String, key: String, place: String, at: Timestamp, isVerified: Bool = false) {
        self.id = id
        self.key = key
        self.place = place
        self.at = at
        self.isVerified = isVerified
    }
}

/// The steady clock of a database, which measures waits. Its time plus the skew is the time of the wall clock.
package struct MoveClock: Sendable, Hashable {
    package var boot: String
    package var origin: Int64
    package var skew: Int64
    /// The latest moment that the database has recorded.
    package var seen: Int64

    package init(boot: String, origin: Int64, skew: Int64, seen: Int64) {
        self.boot = boot
        self.origin = origin
        self.skew = skew
        self.seen = seen
    }
}

/// The reason why a move whose copy is complete has not ended. The source may be marked as moved. Until the next call, neither
/// side may be usable.
package struct UnendedMove: Error {
    package let cause: any Error
}

/// The reason why jobs were not moved. The source is unchanged.
package struct MoveFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Cause: Sendable, Hashable {
        /// The databases must be corrected first, or the caller must name other databases.
        case refused
        /// Something uses a database; a later try may succeed.
        case busy
        /// The databases differ after the copy.
        case different
    }

    package var cause: Cause
    /// The problem and its remedy.
    package var description: String
    /// More lines, such as one for each daemon.
    package var details: [String]

    package init(_ cause: Cause, _ description: String, details: [String] = []) {
        self.cause = cause
        self.description = description
        self.details = details
    }
}
