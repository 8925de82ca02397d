import Synchronization
import WebSyntax

/// Measures how long work takes, without the time that it waits for a permit of a host.
package final class Stopwatch: Sendable {
    private struct State {
        var waited: Duration = .zero
        var waiting: (since: ContinuousClock.Instant, host: WebURL)?
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    package init() {}

    package var reading: Duration {
        state.withLock { state in
            let now = ContinuousClock.now
            return now - start - state.waited - (state.waiting.map { now - $0.since } ?? .zero)
        }
    }

    /// The URL for whose host the work is waiting for a permit; nil while it is not waiting.
    package var waitingFor: WebURL? { state.withLock { $0.waiting?.host } }

    func pause(for host: WebURL) { state.withLock { $0.waiting = (.now, host) } }

    func resume() {
        state.withLock { state in
            if let waiting = state.waiting { state.waited += .now - waiting.since }
            state.waiting = nil
        }
    }

    /// The time until the stopwatch reaches `end`. It does not shrink while the stopwatch is paused.
    package func left(until end: Duration) -> Duration { end - reading }
}
