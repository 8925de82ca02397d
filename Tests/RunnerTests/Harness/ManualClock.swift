import Dispatch
import Jobs
import Runner
import Synchronization

/// A clock that moves only when told to. Its alarms ring on the thread that moves it.
final class ManualClock<Moment: Comparable & Sendable>: AlarmClock {
    private struct State {
        var now: Moment
        /// The times before and after each setting of the clock.
        var jumps: [(from: Moment, to: Moment)] = []
        var alarms: [ManualAlarm] = []
    }

    final class ManualAlarm: Alarm {
        let ring: @Sendable () -> Void
        let moment = Mutex<Moment?>(nil)
        private let now: @Sendable () -> Moment

        init(now: @escaping @Sendable () -> Moment, ring: @escaping @Sendable () -> Void) {
            self.now = now
            self.ring = ring
        }

        /// One for a moment that has passed rings at once, elsewhere, as the kernel's would: the time may pass between the
        /// start of what is limited and the setting of its alarm.
        func set(_ moment: Moment?) {
            self.moment.withLock { $0 = moment }
            if takeIfDue(now()) { DispatchQueue.global().async { [ring] in ring() } }
        }

        func takeIfDue(_ now: Moment) -> Bool {
            moment.withLock { set in
                guard let due = set, due <= now else { return false }
                set = nil
                return true
            }
        }
    }

    private let state: Mutex<State>

    init(_ now: Moment) { state = Mutex(State(now: now)) }

    var now: Moment { state.withLock { $0.now } }

    /// The moments for which alarms are set.
    var armed: [Moment] { state.withLock { $0.alarms }.compactMap { $0.moment.withLock { $0 } } }

    func alarm(_ ring: @escaping @Sendable () -> Void) -> any Alarm<Moment> {
        let alarm = ManualAlarm(now: { self.now }, ring: ring)
        state.withLock { $0.alarms.append(alarm) }
        return alarm
    }

    /// Time passes: rings what has become due.
    func advance(to moment: Moment) {
        let alarms = state.withLock { state in
            state.now = moment
            return state.alarms
        }
        for alarm in alarms where alarm.takeIfDue(moment) { alarm.ring() }
    }

    /// Somebody sets the clock: every alarm rings, set or not.
    func jump(to moment: Moment) {
        let alarms = state.withLock { state in
            state.jumps.append((state.now, moment))
            state.now = moment
            return state.alarms
        }
        for alarm in alarms { alarm.ring() }
    }
}

extension ManualClock where Moment == Timestamp {
    func advance(by duration: Duration) { advance(to: now + duration) }

    /// The time that has really passed, without jumps.
    var passed: Duration {
        state.withLock { state in
            state.jumps.reduce(.milliseconds(state.now.milliseconds)) { $0 - ($1.to - $1.from) }
        }
    }
}

/// The clocks of a machine with a manual wall clock.
struct ManualStoreClock: StoreClock {
    let wallClock: ManualClock<Timestamp>

    var boot: String { "the only one" }
    var sinceBoot: Duration { wallClock.passed }
    var wall: Timestamp { wallClock.now }
}

extension ManualClock where Moment == Duration {
    func advance(by duration: Duration) { advance(to: now + duration) }
}
