/// The limits for requests to each host. The first two limits do not apply to hosts that an ``AllowRule`` permits,
/// since these hosts belong to the administrator.
public struct HostLimits: Sendable, Hashable {
    /// How many requests `unfurl` and `enrich` together may send to one host at the same time. Default: 6.
    public var concurrent = 6
    /// The time between the starts of two requests, after an initial burst of ``concurrent`` requests. Default: 100 ms.
    public var interval: Duration = .milliseconds(100)
    /// How many connections in a row must fail before the host gets no requests for a while. Default: 5.
    public var failuresBeforeRest = 5
    /// How long such a host gets no requests. Then a single request tests whether it answers again. Default: 30 s.
    public var rest: Duration = .seconds(30)

    /// Whether the first two limits also apply to hosts that an ``AllowRule`` permits. Tests set it, since their hosts
    /// are on loopback.
    var limitsOwnHosts = false

    /// Creates limits with their default values.
    public init() {}
}

/// Decides when the next request to a host may start: a burst first, then a steady pace.
struct Pace: Sendable, Hashable {
    /// When a full burst is available again. All times are counted from an origin that the caller chooses.
    private var full: Duration = .zero

    /// Reserves the start of one request.
    ///
    /// - Returns: How long to wait from `now`; zero if the request may start at once.
    mutating func reserve(now: Duration, limits: HostLimits) -> Duration {
        let start = max(full, now)
        full = start + limits.interval
        return max(.zero, start - now - limits.interval * (limits.concurrent - 1))
    }

    func isIdle(now: Duration) -> Bool { full <= now }
}

/// Stops requests to a host that does not answer.
///
/// 1. Closed: requests pass, and consecutive failures are counted.
/// 2. Open until a given time: no request passes.
/// 3. Trying: one request passes, and its outcome closes or reopens the breaker.
struct CircuitBreaker: Sendable, Hashable {
    private enum State: Hashable {
        case closed(failures: Int)
        case open(until: Duration)
        case trying
    }

    private var state = State.closed(failures: 0)
    private var lastFailure = Duration.zero

    /// Whether the breaker holds nothing worth keeping: the host has not failed, or not recently.
    func isForgettable(now: Duration, limits: HostLimits) -> Bool {
        state == .closed(failures: 0) || state != .trying && now - lastFailure > limits.rest * 2
    }

    /// - Returns: Nil if a request may pass, otherwise how long to wait before asking again.
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
        /// The request ended before it showed whether the host answers.
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
