import Jobs
import Synchronization

/// The machine's clocks as a check moves them.
final class ContractClock: StoreClock {
    private struct State {
        var wall: Timestamp
        var sinceBoot = Duration.seconds(1000)
        var boots = 1
    }

    private let state: Mutex<State>

    init(_ wall: Timestamp) { state = Mutex(State(wall: wall)) }

    var boot: String { "boot \(state.withLock(\.boots))" }
    var sinceBoot: Duration { state.withLock(\.sinceBoot) }
    var wall: Timestamp { state.withLock(\.wall) }

    /// Time passes.
    func advance(_ duration: Duration) {
        precondition(duration >= .zero, "time goes on")
        state.withLock { state in
            state.wall = state.wall + duration
            state.sinceBoot += duration
        }
    }

    /// Somebody sets the wall clock; no time passes.
    func set(by difference: Duration) { state.withLock { $0.wall = $0.wall + difference } }

    /// The machine is switched off and on again. Meanwhile the wall clock goes on, or does not.
    func restartMachine(after off: Duration) {
        state.withLock { state in
            state.wall = state.wall + off
            state.sinceBoot = .seconds(10)
            state.boots += 1
        }
    }
}
