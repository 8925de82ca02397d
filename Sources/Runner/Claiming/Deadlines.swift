import HeapModule
import Jobs

/// The moments at which running attempts must be checked, the next one first.
///
/// An entry stays when its attempt ends. The caller that pops it checks whether the attempt still runs.
struct Deadlines {
    private struct Entry: Comparable {
        let at: Duration
        let lease: Lease

        static func < (a: Entry, b: Entry) -> Bool { a.at < b.at }
    }

    private var heap = Heap<Entry>()

    var next: Duration? { heap.min?.at }

    /// - Parameter isLive: Whether an attempt still runs; entries of others are swept out before they outnumber the rest.
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
