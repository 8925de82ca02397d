import Synchronization

/// A limit of bytes a second: who has taken more than its share waits before taking the next.
final class Throttle: Sendable {
    private let rate: Int64?
    private let outer: Throttle?
    /// The moment at which all that was taken is paid for.
    private let paid = Mutex(ContinuousClock.now)

    /// - Parameter outer: A limit that many share, which also holds.
    init(bytesPerSecond rate: Int64?, within outer: Throttle? = nil) {
        self.rate = rate
        self.outer = outer
    }

    func take(_ bytes: Int) async throws {
        try await outer?.take(bytes)
        guard let rate, rate > 0 else { return }
        let now = ContinuousClock.now
        let start = paid.withLock { paid in
            let start = max(paid, now)
            paid = start + .seconds(Double(bytes) / Double(rate))
            return start
        }
        if start > now { try await Task.sleep(until: start) }
    }
}
