import Synchronization

/// Calls something back after a while, unless it is cancelled first. Made for limits: many are set, few are ever reached.
///
/// Alarms that are due within the same 50 ms share an entry, so that setting or cancelling one only touches a dictionary. One
/// task sleeps until the first of them; without alarms there is none.
struct Alarm: Sendable {
    /// - Returns: How long to wait before the next call; nil for none.
    typealias Action = @Sendable () -> Duration?

    private struct State {
        var lastNumber: UInt64 = 0
        /// The tick at which each alarm is due.
        var ticks: [UInt64: Int64] = [:]
        var actions: [Int64: [UInt64: Action]] = [:]
        /// When the task that sleeps wakes up.
        var wakesAt = Int64.max
        var sleeper: Task<Void, Never>?
    }

    private static let tick = Duration.milliseconds(50)
    private static let origin = ContinuousClock.now
    private static let state = Mutex(State())

    private let number: UInt64

    /// Rings after `delay`, rounded up to the next tick.
    static func set(after delay: Duration, _ action: @escaping Action) -> Alarm {
        state.withLock { state in
            state.lastNumber += 1
            add(state.lastNumber, after: delay, action, to: &state)
            return Alarm(number: state.lastNumber)
        }
    }

    /// An action that has begun is not stopped; it is not repeated.
    func cancel() {
        Self.state.withLock { state in
            guard let tick = state.ticks.removeValue(forKey: number) else { return }
            state.actions[tick]?[number] = nil
            if state.actions[tick]?.isEmpty == true { state.actions[tick] = nil }
        }
    }

    private static func add(_ number: UInt64, after delay: Duration, _ action: @escaping Action, to state: inout State)
    {
        let due = Int64(((ContinuousClock.now - origin + delay) / tick).rounded(.up))
        state.ticks[number] = due
        state.actions[due, default: [:]][number] = action
        if due < state.wakesAt { sleep(until: due, &state) }
    }

    private static func sleep(until due: Int64, _ state: inout State) {
        state.sleeper?.cancel()
        state.wakesAt = due
        // Ends by itself. Detached, so that it holds nothing of the task that happens to set the alarm.
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
                // Cancelled while its action ran.
                guard state.ticks[number] != nil else { return }
                guard let delay else { return state.ticks[number] = nil }
                add(number, after: delay, action, to: &state)
            }
        }
    }
}
