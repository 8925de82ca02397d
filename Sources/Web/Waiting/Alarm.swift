import Synchronization

/// Calls an action after a delay, unless it is cancelled first. It is made for timeouts: many are set, and few are
/// reached.
///
/// Alarms that are due within the same 50 ms share an entry, so that setting or cancelling an alarm only changes a
/// dictionary. One task sleeps until the earliest alarm, and ends when no alarm is left.
struct Alarm: Sendable {
    /// - Returns: The delay until the action is called again; nil to end the alarm.
    typealias Action = @Sendable () -> Duration?

    private struct State {
        var lastNumber: UInt64 = 0
        /// The tick at which each alarm is due, by the alarm's number.
        var ticks: [UInt64: Int64] = [:]
        var actions: [Int64: [UInt64: Action]] = [:]
        /// The tick at which the sleeping task wakes up; `.max` if no task sleeps.
        var wakesAt = Int64.max
        var sleeper: Task<Void, Never>?
    }

    private static let tick = Duration.milliseconds(50)
    /// 100 years: no alarm rings later, and the number of ticks fits into an integer.
    private static let longestDelay = Duration.seconds(100 * 365 * 86_400)
    private static let origin = ContinuousClock.now
    private static let state = Mutex(State())

    private let number: UInt64

    /// Sets an alarm that calls `action` after `delay`, rounded up to the next tick.
    static func set(after delay: Duration, _ action: @escaping Action) -> Alarm {
        state.withLock { state in
            state.lastNumber += 1
            add(state.lastNumber, after: delay, action, to: &state)
            return Alarm(number: state.lastNumber)
        }
    }

    /// Cancels the alarm. If the action is running, it continues, but it is not called again.
    func cancel() {
        Self.state.withLock { state in
            guard let tick = state.ticks.removeValue(forKey: number) else { return }
            state.actions[tick]?[number] = nil
            if state.actions[tick]?.isEmpty == true { state.actions[tick] = nil }
        }
    }

    private static func add(_ number: UInt64, after delay: Duration, _ action: @escaping Action, to state: inout State)
    {
        let due = Int64(((ContinuousClock.now - origin + min(delay, longestDelay)) / tick).rounded(.up))
        state.ticks[number] = due
        state.actions[due, default: [:]][number] = action
        if due < state.wakesAt { sleep(until: due, &state) }
    }

    private static func sleep(until due: Int64, _ state: inout State) {
        state.sleeper?.cancel()
        state.wakesAt = due
        // Nobody awaits this task: it ends after one sleep. It is detached, so that it inherits nothing from the task
        // that sets the alarm.
        state.sleeper = Task.detached {
            do { try await Task.sleep(until: origin + tick * Int(due)) } catch { return }
            ring(at: due)
        }
    }

    private static func ring(at now: Int64) {
        let due = state.withLock { state in
            var due: [(number: UInt64, action: Action)] = []
            for tick in state.actions.keys.filter({ $0 <= now }) {
                due += state.actions.removeValue(forKey: tick)?.map { ($0.key, $0.value) } ?? []
            }
            state.wakesAt = .max
            if let next = state.actions.keys.min() { sleep(until: next, &state) }
            return due
        }
        for (number, action) in due {
            let delay = action()
            state.withLock { state in
                // The alarm may have been cancelled while its action ran.
                guard state.ticks[number] != nil else { return }
                guard let delay else { return state.ticks[number] = nil }
                add(number, after: delay, action, to: &state)
            }
        }
    }
}
