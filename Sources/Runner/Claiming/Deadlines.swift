import HeapModule
import Jobs

/// The moments at which running attempts must be checked, the next one first.
///
/// An entry stays when its attempt ends, so the caller checks whether the attempt of a popped entry still runs.
struct Deadlines {
    private struct Entry: Comparable {
        let at: Duration
        let lease: Lease

        static func < (a: Entry, b: Entry) -> Bool { a.at < b.at }
    }

    private var heap = Heap<Entry>()

    var next: Duration? { heap.min?.at }

    /// Adds a deadline.
    ///
    /// - Parameter isLive: Whether an attempt still runs. Entries of ended attempts are removed before they outnumber
    ///   the others.
    mutating func add(_ lease: Lease, at moment: Duration, running: Int, isLive: (Lease) -> Bool) {
        if heap.count > 2 * running + 256 { heap = Heap(heap.unordered.filter { isLive($0.lease) }) }
        heap.insert(Entry(at: moment, lease: lease))
    }

    mutating func popDue(_ now: Duration) -> Lease? {
        guard let next = heap.min, next.at <= now else { return nil }
        return heap.removeMin().lease
    }

    mutating func removeAll() { heap = Heap() }
}
