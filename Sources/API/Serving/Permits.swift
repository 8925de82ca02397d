import Synchronization

/// A limited number of permits. A request is refused if no permit is free.
final class Permits: Sendable {
    private let free: Mutex<Int>

    init(_ limit: Int) { free = Mutex(limit) }

    /// A permit, which returns to the pool when it is released.
    final class Permit: Sendable {
        private let permits: Permits

        fileprivate init(_ permits: Permits) { self.permits = permits }

        deinit { permits.free.withLock { $0 += 1 } }
    }

    /// Takes a permit; returns nil if none is free.
    func take() -> Permit? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Permit(self) : nil
    }
}
