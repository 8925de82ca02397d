import Synchronization

/// Tracks whether the client or the server has to act next while a body is sent. The time that the client takes, to
/// read from a slow disk or to keep to a bandwidth limit, does not count as the server's.
final class Turn: Sendable {
    /// Since when the server has had bytes to accept; nil while it is the client's turn.
    private let theirs = Mutex<ContinuousClock.Instant?>(nil)

    func becomesTheirs() { theirs.withLock { $0 = .now } }

    /// - Returns: How long the server took; nil if it was the client's turn already.
    func becomesOurs() -> Duration? {
        theirs.withLock { theirs in
            defer { theirs = nil }
            return theirs.map { .now - $0 }
        }
    }

    /// Returns when the server has accepted nothing for that long, or when the task is cancelled.
    func waitUntilStalled(for limit: Duration) async {
        while !Task.isCancelled {
            let left = theirs.withLock { $0.map { limit - (ContinuousClock.Instant.now - $0) } } ?? limit
            if left <= .zero { return }
            // A cancelled wait ends the loop.
            try? await Task.sleep(for: left)
        }
    }
}
