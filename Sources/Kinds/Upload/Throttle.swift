import Synchronization

/// A limit in bytes per second. A caller that has taken more than its share waits before it takes more.
final class Throttle: Sendable {
    private let rate: Int64?
    private let outer: Throttle?
    /// The moment from which the limit permits more bytes.
    private let paid = Mutex(ContinuousClock.now)

    /// - Parameters:
    ///   - rate: The limit; nil for none.
    ///   - outer: A limit that several uploads share, and that applies as well.
    init(bytesPerSecond rate: Int64?, within outer: Throttle? = nil) {
        self.rate = rate
        self.outer = outer
    }

    /// How many bytes to take at once. A lower limit means fewer bytes, so that they flow steadily.
    var bufferBytes: Int {
        let own = rate.map { Int(max(1 << 10, min($0 / 4, 1 << 20))) } ?? 1 << 20
        return min(own, outer?.bufferBytes ?? own)
    }

    /// Waits until the limit permits more bytes, and then counts these bytes.
    ///
    /// - Throws: `CancellationError`.
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
