/// The pauses of a program whose processes keep dying. Each is twice as long as the one before, from one second to five
/// minutes, until an attempt ends.
struct Rest {
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    /// When the current rest ends.
    private(set) var until: Duration?
    private var next = first
    /// The number of rests since an attempt ended.
    private(set) var count = 0
    /// The moments of the last deaths, since an attempt ended.
    private var deaths: [Duration] = []

    func isResting(_ now: Duration) -> Bool { until.map { $0 > now } ?? false }

    mutating func endIfOver(_ now: Duration) { if !isResting(now) { until = nil } }

    mutating func attemptEnded() { end() }

    /// Ends the rest, and forgets everything that led to it.
    mutating func end() {
        deaths = []
        next = Self.first
        count = 0
        until = nil
    }

    mutating func failedToStart(_ now: Duration, _ actions: inout [Dispatcher.Action]) { begin(now, &actions) }

    mutating func died(_ now: Duration, after limit: Int, _ actions: inout [Dispatcher.Action]) {
        deaths.removeAll { now - $0 > .seconds(60) }
        deaths.append(now)
        if deaths.count >= limit { begin(now, &actions) }
    }

    private mutating func begin(_ now: Duration, _ actions: inout [Dispatcher.Action]) {
        // Processes that were started together often die together.
        if isResting(now) { return }
        deaths = []
        until = now + next
        actions.append(.rest(next))
        next = min(next * 2, Self.longest)
        count += 1
    }
}
