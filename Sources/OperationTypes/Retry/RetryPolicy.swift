/// The rule that decides, after a failed try, between another one and the end.
///
/// A value without clock or chance of its own: the caller hands in the number of the try and a random number, and gets a
/// decision that can be stored.
public struct RetryPolicy: Sendable, Hashable {
    /// How many tries there are in all, the first included; at least 1.
    public var attempts: Int
    public var delay: Delay
    public var jitter: Jitter
    public var failures: Failures

    public init(
        attempts: Int, delay: Delay = .none, jitter: Jitter = .none, failures: Failures = .retryable
    ) {
        self.attempts = attempts
        self.delay = delay
        self.jitter = jitter
        self.failures = failures
    }

    /// One try, and no more.
    public static let never = RetryPolicy(attempts: 1)

    /// Five tries, 1 s doubling to at most 5 min, with full jitter, for failures that say a retry may help.
    public static let standard = RetryPolicy(
        attempts: 5, delay: .exponential(initial: .seconds(1), multiplier: 2, cap: .seconds(300)),
        jitter: .full)

    /// The wait before the next try.
    public enum Delay: Sendable, Hashable {
        case none
        case constant(Duration)
        /// `initial · multiplier^(try − 1)`, never above `cap`.
        case exponential(initial: Duration, multiplier: Double, cap: Duration)
        /// One entry for each failed try; the last one serves for all that follow.
        case list([Duration])
    }

    public enum Jitter: String, Sendable, Hashable, Codable {
        case none
        /// A wait drawn evenly from zero to the full delay, so that a crowd of failures does not come back as a crowd.
        case full
    }

    /// Which failures are worth another try.
    public enum Failures: Sendable, Hashable {
        /// Those that say so themselves.
        case retryable
        case any
        /// Those whose stable code is listed, whatever they say themselves.
        case codes(Set<String>)
    }

    public enum Decision: Sendable, Hashable {
        case retry(after: Duration)
        case stop
    }

    /// Decides what follows the failed try number `attempt` (from 1). The wait is never shorter than `retryAfter`, for which the
    /// other side asked; `random` is evenly drawn from `0..<1`.
    public func decide(
        afterTry attempt: Int, code: String, isRetryable: Bool, retryAfter: Duration? = nil,
        random: Double
    ) -> Decision {
        guard attempt < attempts else { return .stop }
        let isWorthIt =
            switch failures {
            case .retryable: isRetryable
            case .any: true
            case .codes(let codes): codes.contains(code)
            }
        guard isWorthIt else { return .stop }
        var wait = delay.duration(afterTry: attempt)
        if jitter == .full { wait = wait * random }
        return .retry(after: max(wait, retryAfter ?? .zero))
    }
}

extension RetryPolicy.Delay {
    /// The full delay after the failed try number `attempt` (from 1), before jitter.
    public func duration(afterTry attempt: Int) -> Duration {
        switch self {
        case .none:
            return .zero
        case .constant(let delay):
            return delay
        case .exponential(let initial, let multiplier, let cap):
            var delay = initial
            for _ in 1..<max(attempt, 1) {
                // Growing past the cap once is enough; a Duration overflows after 2^127 attoseconds.
                if delay >= cap || delay <= .zero || multiplier == 1 { break }
                delay = delay * multiplier
            }
            return min(delay, cap)
        case .list(let delays):
            return delays.isEmpty ? .zero : delays[min(attempt, delays.count) - 1]
        }
    }
}

extension RetryPolicy {
    /// Decides what follows the failed try number `attempt` (from 1). A failure that is no ``OperationFailure`` counts as
    /// one that a retry may help, with the empty code.
    public func decide(afterTry attempt: Int, failure: any Error, random: Double) -> Decision {
        let known = failure as? any OperationFailure
        return decide(
            afterTry: attempt, code: known?.code ?? "", isRetryable: known?.isRetryable ?? true,
            retryAfter: known?.retryAfter, random: random)
    }
}
