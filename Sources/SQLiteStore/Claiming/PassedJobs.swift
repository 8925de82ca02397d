import Jobs

/// The place of a ready job among those of its queue and priority: longest ready first, then by number.
struct ReadyKey: Comparable {
    var readySince: Timestamp
    var job: JobID

    /// The place before all jobs.
    static let first = ReadyKey(readySince: Timestamp(milliseconds: .min), job: JobID(.min))

    /// The place just before this one. Numbers of jobs are positive.
    var previous: ReadyKey { ReadyKey(readySince: readySince, job: JobID(job.rawValue - 1)) }

    static func < (a: ReadyKey, b: ReadyKey) -> Bool { (a.readySince, a.job) < (b.readySince, b.job) }
}

/// The ready jobs of one queue and priority that claims have passed over because they had no room. The next claim begins
/// behind them, so a million jobs without room cost it nothing (P9).
///
/// Kept only in memory:
/// - R1: Every ready job up to ``end`` is of a class in `classes`.
/// - R2: No job up to ``end`` is at or before the place of its class.
/// - R3: If `isComplete`, no job is behind ``end``.
struct PassedJobs {
    /// The place of the last job that a claim has seen.
    private(set) var end = ReadyKey.first
    private(set) var classes: [(room: RoomClass, after: ReadyKey)] = []
    private(set) var isComplete = false

    /// The place behind which a claim finds its next job; nil if there is none.
    ///
    /// - Parameter place: The place up to which the claim has looked.
    func start(from place: ReadyKey, _ room: ClaimRoom) -> ReadyKey? {
        if place >= end { return isComplete ? nil : place }
        let start = classes.reduce(end) { room.admits($1.room) ? min($0, $1.after) : $0 }
        return start >= end && isComplete ? nil : max(place, start)
    }

    /// Records that a claim has looked at the job at this place, the next one behind ``start(from:_:)``.
    ///
    /// - Parameter skipped: The job's class, if it has no room; nil if the claim takes the job.
    mutating func pass(_ place: ReadyKey, skipped: RoomClass?, _ room: ClaimRoom) {
        // The claim has seen every job with room up to this place.
        if place >= end { forgetClasses(with: room) }
        for index in classes.indices where room.admits(classes[index].room) {
            classes[index].after = max(classes[index].after, place)
        }
        if let skipped, !classes.contains(where: { $0.room == skipped }) { classes.append((skipped, place.previous)) }
        end = max(end, place)
    }

    /// Records that a claim has found no further job.
    mutating func reachEnd(_ room: ClaimRoom) {
        forgetClasses(with: room)
        isComplete = true
    }

    private mutating func forgetClasses(with room: ClaimRoom) { classes.removeAll { room.admits($0.room) } }

    /// Records that a job became ready, at any place.
    mutating func add(_ job: RoomClass, at place: ReadyKey) {
        if place > end {
            isComplete = false
        } else if let index = classes.firstIndex(where: { $0.room == job }) {
            classes[index].after = min(classes[index].after, place.previous)
        } else {
            classes.append((job, place.previous))
        }
    }
}
