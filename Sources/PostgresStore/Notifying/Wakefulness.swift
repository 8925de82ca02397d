/// Decides whether a store hears of jobs that programs enqueue by themselves from notifications, or by looking.
///
/// A commit with a notification takes a lock over the whole database, so at most a few hundred of them fit into a
/// second. While more calls arrive than ``burst`` within ``window``, the store is awake: callers send nothing, and it
/// looks every ``pause``.
///
/// Each call adds a row to the changes of a queue's counts, which nobody folds while no daemon changes them. So the store
/// also folds them after ``callsPerFold`` calls.
///
/// - W1: A caller that does not see the store asleep ends before the store stops looking (E4).
struct Wakefulness {
    enum State: Equatable {
        /// Callers send notifications.
        case asleep
        /// Nobody sends notifications.
        case awake
        /// Callers send notifications again, but some may not know that yet.
        case fallingAsleep
    }

    enum Action: Equatable {
        /// Store that callers need not send notifications.
        case wakeUp
        /// Store that callers must send notifications.
        case fallAsleep
        /// Ask for the calls.
        case look
        /// Tell the observers that there may be work.
        case report
        /// Fold the counts of the queues.
        case fold
    }

    static let burst = 5
    static let window = Duration.milliseconds(100)
    static let pause = Duration.milliseconds(20)
    /// The longest pause while the transactions of callers last.
    static let longestPause = Duration.milliseconds(640)
    static let callsPerFold: Int64 = 512
    /// The number of looks without a burst after which the store falls asleep.
    private static let quietLooks = 10

    private(set) var state = State.asleep
    private var notifications: [ContinuousClock.Instant] = []
    /// The number of calls at the last look.
    private var calls: Int64?
    private var hadCallers = false
    private var looks = 0
    private var callsSinceBurst: Int64 = 0
    private var nextPause = Self.pause
    private var unfolded: Int64 = 0

    /// How long to wait for a notification before the next look; nil if none is needed.
    var wait: Duration? { state == .asleep ? nil : nextPause }

    /// A program has sent a notification.
    mutating func notified(at now: ContinuousClock.Instant) -> [Action] {
        guard state == .asleep else { return [.report] }
        let fold = count(1)
        notifications = notifications.filter { now - $0 < Self.window } + [now]
        guard notifications.count >= Self.burst else { return [.report] + fold }
        begin(.awake)
        // A caller whose notification is still to come is found by a look too.
        return [.wakeUp, .report] + fold
    }

    /// The store has looked: the number of calls so far, also of those that have not ended, and whether there are callers
    /// whose transactions have not ended.
    mutating func saw(calls now: Int64, hasCallers: Bool) -> [Action] {
        let new = calls.map { now - $0 } ?? 0
        let mayHaveWork = calls == nil || new != 0 || hasCallers || hadCallers
        let fold = count(new)
        calls = now
        hadCallers = hasCallers
        switch state {
        case .asleep: return []
        case .fallingAsleep:
            // W1: The callers that did not know have ended.
            nextPause = min(nextPause * 2, Self.longestPause)
            if !hasCallers { begin(.asleep) }
            return [.report] + fold
        case .awake:
            looks += 1
            callsSinceBurst += new
            if callsSinceBurst >= Int64(Self.burst) { (looks, callsSinceBurst) = (0, 0) }
            guard looks >= Self.quietLooks else { return (mayHaveWork ? [.report] : []) + fold }
            state = .fallingAsleep
            return [.fallAsleep, .look] + fold
        }
    }

    private mutating func begin(_ state: State) {
        let unfolded = unfolded
        self = Wakefulness()
        self.state = state
        self.unfolded = unfolded
    }

    private mutating func count(_ new: Int64) -> [Action] {
        unfolded += new
        if unfolded < Self.callsPerFold { return [] }
        unfolded = 0
        return [.fold]
    }
}
