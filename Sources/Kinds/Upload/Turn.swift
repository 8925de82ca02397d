import Synchronization

/// Whose turn it is while a body is sent. Time that we need, to read from a slow disk or to keep a limit of bandwidth, is
/// not the server's.
final class Turn: Sendable {
    /// Since when the server has bytes to take; nil while it is our turn.
    private let theirs = Mutex<ContinuousClock.Instant?>(nil)

    func becomesTheirs() { theirs.withLock { $0 = .now } }

    /// - Returns: How long the server took; nil when it was our turn already.
    func becomesOurs() -> Duration? {
        theirs.withLock { theirs in
            defer { theirs = nil }
            return theirs.map { .now - $0 }
        }
    }

    /// Returns when the server has taken nothing for that long, or the task is cancelled.
    func waitUntilStalled(for limit: Duration) async {
        while !Task.isCancelled {
            let left = theirs.withLock { $0.map { limit - (ContinuousClock.Instant.now - $0) } } ?? limit
            if left <= .zero { return }
            // A cancelled wait ends the loop.
            try? await Task.sleep(for: left)
        }
    }
}
