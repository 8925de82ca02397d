/// Operations of foreign classes (other than ``AsyncOperation``) that are checked repeatedly, since nothing reports
/// that they were cancelled or have become ready.
///
/// When an operation of a foreign class is cancelled, Foundation on Linux notifies only the `OperationQueue` that holds
/// the operation, and such a queue would start it. While no such operation waits, there are no checks. The first check
/// comes 10 ms after an operation was added. The interval between later checks is a hundredth of the time that the
/// newest operation has waited, at most a second.
struct ForeignOperations: Sendable {
    struct Check: Equatable {
        /// Nanoseconds until the check.
        let delay: UInt64
        let number: Int
    }

    private static let shortest: UInt64 = 10_000_000
    private static let longest: UInt64 = 1_000_000_000

    private(set) var handles: Set<QueueState.Handle> = []
    /// All operations that were added and are still in the queue, including those that are ready and not checked.
    private var known: Set<QueueState.Handle> = []
    private var hasNew = false
    /// The time at which the newest operation was added, in nanoseconds.
    private var since: UInt64 = 0
    /// The time of the next check; nil if none is scheduled.
    private var due: UInt64?
    private var number = 0

    mutating func insert(_ handle: QueueState.Handle) {
        handles.insert(handle)
        if known.insert(handle).inserted { hasNew = true }
    }

    /// Ends the checks of an operation that is ready. It may be inserted again if it turns out not to be ready.
    mutating func remove(_ handle: QueueState.Handle) {
        if !handles.isEmpty { handles.remove(handle) }
    }

    /// Ends the checks of an operation that leaves the queue.
    mutating func forget(_ handle: QueueState.Handle) {
        if !known.isEmpty, known.remove(handle) != nil { handles.remove(handle) }
    }

    /// The check that inserted operations need; nil if none waits, or if a check is due soon enough.
    mutating func firstCheck(now: UInt64) -> Check? {
        guard !handles.isEmpty else { return nil }
        if hasNew { since = now }
        hasNew = false
        let delay = interval(now)
        if let due, due <= now + delay { return nil }
        return check(now: now, after: delay)
    }

    /// The check that follows check `number`; nil if no operation waits, or if a later check replaced that one.
    ///
    /// - Parameter cost: How long the check took, in nanoseconds. Checks take at most one percent of the processor time.
    mutating func nextCheck(after number: Int, cost: UInt64, now: UInt64) -> Check? {
        guard number == self.number else { return nil }
        due = nil
        guard !handles.isEmpty else { return nil }
        return check(now: now, after: max(interval(now), cost * 100))
    }

    private func interval(_ now: UInt64) -> UInt64 { min(max((now - since) / 100, Self.shortest), Self.longest) }

    private mutating func check(now: UInt64, after delay: UInt64) -> Check {
        number += 1
        due = now + delay
        return Check(delay: delay, number: number)
    }
}
