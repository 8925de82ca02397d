import Synchronization

/// Limits the number of changes that all watchers together keep for slow readers. A watcher that exceeds the
/// limit drops its changes and reads everything again.
final class WatchBudget: Sendable {
    private let limit: Int
    private let held = Atomic(0)

    /// - Parameter limit: Default: twice the number of jobs in the largest graph. A change takes a few dozen
    ///   bytes.
    init(_ limit: Int = 200_000) { self.limit = limit }

    /// Whether `count` more changes fit. Two watchers that call it at the same time may both get true, and
    /// together exceed the limit.
    func hasRoom(for count: Int) -> Bool { count <= 0 || held.load(ordering: .relaxed) + count <= limit }

    func add(_ count: Int) { held.add(count, ordering: .relaxed) }
}
