import Jobs
import Runner
import Synchronization

/// A clock that moves only when told to. Its alarms ring on the thread that moves it.
final class ManualClock<Moment: Comparable & Sendable>: AlarmClock {
    private struct State {
        var now: Moment
        var alarms: [ManualAlarm] = []
    }

    final class ManualAlarm: Alarm {
        let ring: @Sendable () -> Void
        let moment = Mutex<Moment?>(nil)

        init(ring: @escaping @Sendable () -> Void) { self.ring = ring }

        func set(_ moment: Moment?) { self.moment.withLock { $0 = moment } }
    }

    private let state: Mutex<State>

    init(_ now: Moment) { state = Mutex(State(now: now)) }

    var now: Moment { state.withLock { $0.now } }

    /// The moments for which alarms are set.
    var armed: [Moment] { state.withLock { $0.alarms }.compactMap { $0.moment.withLock { $0 } } }

    func alarm(_ ring: @escaping @Sendable () -> Void) -> any Alarm<Moment> {
        let alarm = ManualAlarm(ring: ring)
        state.withLock { $0.alarms.append(alarm) }
        return alarm
    }

    /// Time passes: rings what has become due.
    func advance(to moment: Moment) {
        let alarms = state.withLock { state in
            state.now = moment
            return state.alarms
        }
        for alarm in alarms {
            let isDue = alarm.moment.withLock { set in
                guard let due = set, due <= moment else { return false }
                set = nil
                return true
            }
            if isDue { alarm.ring() }
        }
    }

    /// Somebody sets the clock: every alarm that is set rings, due or not, and stays set unless it was due.
    func jump(to moment: Moment) {
        let alarms = state.withLock { state in
            state.now = moment
            return state.alarms
        }
        for alarm in alarms where alarm.moment.withLock({ $0 != nil }) { alarm.ring() }
    }
}

extension ManualClock where Moment == Timestamp {
    func advance(by duration: Duration) { advance(to: now + duration) }
}

extension ManualClock where Moment == Duration {
    func advance(by duration: Duration) { advance(to: now + duration) }
}
