import Synchronization

/// Lets few at a time have something; who comes when all are out is told so.
final class Permits: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(_ limit: Int) { self.limit = limit }

    /// Ends when it is let go of.
    final class Permit: Sendable {
        private let permits: Permits

        fileprivate init(_ permits: Permits) { self.permits = permits }

        deinit { permits.taken.withLock { $0 -= 1 } }
    }

    func take() -> Permit? {
        let isFree = taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        return isFree ? Permit(self) : nil
    }
}
