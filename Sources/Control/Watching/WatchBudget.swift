import Synchronization

/// Limits the number of changes that all watchers together keep for slow readers. A watcher that exceeds it drops its own
/// changes and reads everything again.
final class WatchBudget: Sendable {
    private let limit: Int
    private let held = Atomic(0)

    /// - Parameter limit: Default: twice the largest graph. A change takes a few dozen bytes.
    init(_ limit: Int = 200_000) { self.limit = limit }

    /// Two watchers that ask at the same moment may together exceed the limit by what they add.
    func hasRoom(for count: Int) -> Bool { count <= 0 || held.load(ordering: .relaxed) + count <= limit }

    func add(_ count: Int) { held.add(count, ordering: .relaxed) }
}
