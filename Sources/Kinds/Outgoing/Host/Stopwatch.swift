import Synchronization

/// The time that work takes, without what it waits for its turn at a host.
final class Stopwatch: Sendable {
    private struct State {
        var waited: Duration = .zero
        var waiting: (since: ContinuousClock.Instant, host: WebURL)?
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    var reading: Duration {
        state.withLock { state in
            let now = ContinuousClock.now
            return now - start - state.waited - (state.waiting.map { now - $0.since } ?? .zero)
        }
    }

    /// Whose turn is being waited for.
    var waitingFor: WebURL? { state.withLock { $0.waiting?.host } }

    func wait(for host: WebURL) { state.withLock { $0.waiting = (.now, host) } }

    func goOn() {
        state.withLock { state in
            if let waiting = state.waiting { state.waited += .now - waiting.since }
            state.waiting = nil
        }
    }

    /// The time until the stopwatch reaches `end`. While it is paused this does not shrink.
    func left(until end: Duration) -> Duration { end - reading }
}
