/// How gently one host is treated. Hosts that an ``AllowRule`` permits are the administrator's own: the first two do not apply
/// to them.
public struct HostLimits: Sendable, Hashable {
    /// Requests of `unfurl` and `enrich` together that one host sees at once. 6 unless set.
    public var concurrent = 6
    /// Between the starts of two requests, once a short burst of as many as may run at once is used up. 100 ms unless set.
    public var interval: Duration = .milliseconds(100)
    /// Failures to connect, one after the other, after which a host is left alone for a while. 5 unless set.
    public var failuresBeforeRest = 5
    /// How long it is left alone; then one request tries. 30 s unless set.
    public var rest: Duration = .seconds(30)

    /// Whether the first two apply to the administrator's own hosts as well, for tests: theirs are on loopback.
    var sparesNobody = false

    public init() {}
}

/// When the next request to a host may start: a steady pace after a burst.
struct Pace: Sendable, Hashable {
    /// The moment at which the burst would be whole again; moments count from an origin of the caller's.
    private var full: Duration = .zero

    /// Takes the next place.
    ///
    /// - Returns: How long to wait for it from `now`.
    mutating func reserve(now: Duration, limits: HostLimits) -> Duration {
        let start = max(full, now)
        full = start + limits.interval
        return max(.zero, start - now - limits.interval * (limits.concurrent - 1))
    }

    func isIdle(now: Duration) -> Bool { full <= now }
}

/// Leaves a host alone that does not answer.
///
/// 1. Closed: requests pass; failures in a row are counted. 2. Open until a moment: none passes. 3. Then one passes, and its end
/// decides.
struct CircuitBreaker: Sendable, Hashable {
    private enum State: Hashable {
        case closed(failures: Int)
        case open(until: Duration)
        case trying
    }

    private var state = State.closed(failures: 0)
    private var lastFailure = Duration.zero

    /// Nothing to remember: no failure, or none lately.
    func isForgettable(now: Duration, limits: HostLimits) -> Bool {
        state == .closed(failures: 0) || state != .trying && now - lastFailure > limits.rest * 2
    }

    /// - Returns: Nil when a request may pass, otherwise how long none may.
    mutating func admit(now: Duration, limits: HostLimits) -> Duration? {
        switch state {
        case .closed: return nil
        case .trying: return limits.rest
        case .open(let until):
            if now < until { return until - now }
            state = .trying
            return nil
        }
    }

    enum Ending {
        case reached
        case failedToConnect
        /// It ended before anything was learned about the host.
        case unknown
    }

    mutating func ended(_ ending: Ending, now: Duration, limits: HostLimits) {
        if ending == .failedToConnect { lastFailure = now }
        switch (ending, state) {
        case (.reached, _): state = .closed(failures: 0)
        case (.failedToConnect, .closed(let failures)) where failures + 1 < limits.failuresBeforeRest:
            state = .closed(failures: failures + 1)
        case (.failedToConnect, _): state = .open(until: now + limits.rest)
        case (.unknown, .trying): state = .open(until: now)
        case (.unknown, _): break
        }
    }
}
