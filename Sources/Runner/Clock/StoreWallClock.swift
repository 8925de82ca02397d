import Jobs

/// The store's clock, read on this machine: its wall clock and the offset that the store measured.
///
/// For a store that uses the callers' time, it is the wall clock itself.
public struct StoreWallClock: AlarmClock {
    private let clock: any AlarmClock<Timestamp>
    private let store: any JobStore

    /// Creates the clock of a store.
    public init(_ clock: any AlarmClock<Timestamp>, _ store: any JobStore) {
        self.clock = clock
        self.store = store
    }

    /// The current time of the store.
    public var now: Timestamp { clock.now + store.clockOffset }

    /// Creates an alarm that is not set; see ``AlarmClock/alarm(_:)``. It uses the offset of the moment at which it is
    /// set.
    public func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Timestamp> {
        ShiftedAlarm(alarm: try clock.alarm(ring), store: store)
    }
}

private struct ShiftedAlarm: Alarm {
    let alarm: any Alarm<Timestamp>
    let store: any JobStore

    func set(_ moment: Timestamp?) {
        let offset = store.clockOffset
        alarm.set(moment.map { $0 + (.zero - offset) })
    }
}
