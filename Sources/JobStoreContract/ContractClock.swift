import Jobs
import Synchronization

/// The clocks of a machine, controlled by a check.
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

    /// Lets time pass on both clocks.
    func advance(_ duration: Duration) {
        precondition(duration >= .zero, "time does not go backwards")
        state.withLock { state in
            state.wall = state.wall + duration
            state.sinceBoot += duration
        }
    }

    /// Sets the wall clock. No time passes.
    func set(by difference: Duration) { state.withLock { $0.wall = $0.wall + difference } }

    /// Switches the machine off and on again.
    ///
    /// - Parameter off: How far the wall clock moves while the machine is off; zero or negative for a clock that stops
    ///   or forgets the time.
    func restartMachine(after off: Duration) {
        state.withLock { state in
            state.wall = state.wall + off
            state.sinceBoot = .seconds(10)
            state.boots += 1
        }
    }
}
