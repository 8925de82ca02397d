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

    /// What may be taken at once, so that a low limit gives a steady stream.
    var bufferBytes: Int {
        let own = rate.map { Int(max(1 << 10, min($0 / 4, 1 << 20))) } ?? 1 << 20
        return min(own, outer?.bufferBytes ?? own)
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
