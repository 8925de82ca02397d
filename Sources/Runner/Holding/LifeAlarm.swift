import Synchronization

/// The alarm of a life that must be renewed. Without ``open(_:_:)`` it never rings.
final class LifeAlarm: Sendable {
    private struct State {
        var alarm: (any Alarm<Duration>)?
        var set: Duration?
    }

    private let state = Mutex(State())

    /// Creates the alarm, which is not set.
    ///
    /// - Throws: An error of the clock if no timer can be created.
    func open(_ clock: any AlarmClock<Duration>, _ ring: @escaping @Sendable () -> Void) throws {
        let alarm = try clock.alarm { [weak self] in
            self?.state.withLock { $0.set = nil }
            ring()
        }
        // A moment that was set before there was an alarm must be set again.
        state.withLock { $0 = State(alarm: alarm) }
    }

    /// Sets the alarm.
    ///
    /// - Parameter wanted: Called under the lock, so that the last caller sets the current moment.
    func set(_ wanted: () -> Duration?) {
        state.withLock { state in
            let moment = wanted()
            if moment != state.set { state.alarm?.set(moment) }
            state.set = moment
        }
    }

    /// Drops the alarm, which no longer rings.
    func close() { state.withLock { $0 = State() } }
}
