/// The limits for each host. The first two do not apply to hosts that an ``AllowRule`` permits, since those belong to
/// the administrator.
public struct HostLimits: Sendable, Hashable {
    /// The number of simultaneous requests to one host by `unfurl` and `enrich` together.
    public var concurrent = 6
    /// The time between the starts of two requests, after an initial burst of ``concurrent`` requests.
    public var interval: Duration = .milliseconds(100)
    /// The number of failed connections in a row after which the host gets no requests for a while.
    public var failuresBeforeRest = 5
    /// How long the host gets no requests. After that, one request tries first.
    public var rest: Duration = .seconds(30)

    /// Whether the first two limits also apply to hosts that an ``AllowRule`` permits. Tests set it, since their hosts
    /// are on loopback.
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
