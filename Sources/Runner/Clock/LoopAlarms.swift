import Jobs
import Synchronization

/// The two alarms of the claim loop, one for each clock.
final class LoopAlarms: Sendable {
    /// When the alarms ring; nil for never.
    struct Moments: Equatable {
        var wall: Timestamp?
        var uptime: Duration?
    }

    private struct State {
        var wall: (any Alarm<Timestamp>)?
        var uptime: (any Alarm<Duration>)?
        var set = Moments()
    }

    private let state = Mutex(State())

    /// Creates the alarms, which are not set.
    ///
    /// - Throws: An error of the clocks if no timer can be created.
    func open(
        _ wallClock: any AlarmClock<Timestamp>, _ uptimeClock: any AlarmClock<Duration>,
        onWall: @escaping @Sendable () -> Void, onUptime: @escaping @Sendable () -> Void
    ) throws {
        let wall = try wallClock.alarm { [weak self] in
            self?.state.withLock { $0.set.wall = nil }
            onWall()
        }
        let uptime = try uptimeClock.alarm { [weak self] in
            self?.state.withLock { $0.set.uptime = nil }
            onUptime()
        }
        state.withLock { $0 = State(wall: wall, uptime: uptime) }
    }

    /// Sets the alarms.
    ///
    /// - Parameter wanted: Called under the lock, so that the last caller sets the current moments.
    func set(_ wanted: () -> Moments) {
        state.withLock { state in
            let moments = wanted()
            if moments.wall != state.set.wall { state.wall?.set(moments.wall) }
            if moments.uptime != state.set.uptime { state.uptime?.set(moments.uptime) }
            state.set = moments
        }
    }

    /// Drops the alarms, which no longer ring.
    func close() { state.withLock { $0 = State() } }
}
