/// The rule that decides whether a failed try is followed by another one.
///
/// A policy uses neither a clock nor a random generator: the caller passes the number of the try and a random number,
/// and receives a decision that can be stored.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of tries, including the first; at least 1.
    public var tries: Int
    /// The wait before the next try, before jitter.
    public var delay: Delay
    /// How the wait is randomized.
    public var jitter: Jitter
    /// The failures after which there is another try.
    public var failures: Failures

    /// Creates a policy. Default: tries follow at once, without jitter, after failures that are marked as retryable.
    public init(
        tries: Int, delay: Delay = .none, jitter: Jitter = .none, failures: Failures = .retryable
    ) {
        self.tries = tries
        self.delay = delay
        self.jitter = jitter
        self.failures = failures
    }

    /// A single try.
    public static let never = RetryPolicy(tries: 1)

    /// Five tries for failures that are marked as retryable. The waits begin at 1 s and double up to 5 min, with full
    /// jitter.
    public static let standard = RetryPolicy(
        tries: 5, delay: .exponential(initial: .seconds(1), multiplier: 2, cap: .seconds(300)),
        jitter: .full)

    /// The wait before the next try.
    public enum Delay: Sendable, Hashable {
        case none
        case constant(Duration)
        /// `initial · multiplier^(try − 1)`, never above `cap`.
        case exponential(initial: Duration, multiplier: Double, cap: Duration)
        /// One wait for each failed try. The last one also applies to all further tries.
        case list([Duration])
    }

    /// How a wait is randomized.
    public enum Jitter: String, Sendable, Hashable, Codable {
        case none
        /// The wait is drawn evenly from zero to the full delay, so that many jobs that failed together are not retried
        /// together.
        case full
    }

    /// The failures after which there is another try.
    public enum Failures: Sendable, Hashable {
        /// Failures that are marked as retryable.
        case retryable
        case any
        /// Failures with one of these codes, whether they are marked as retryable or not.
        case codes(Set<String>)
    }

    /// The decision after a failed try.
    public enum Decision: Sendable, Hashable {
        case retry(after: Duration)
        case stop
    }

    /// Decides what follows a failed try.
    ///
    /// - Parameters:
    ///   - number: The number of the failed try, from 1.
    ///   - code: The stable code of the failure.
    ///   - isRetryable: Whether the failure is marked as retryable.
    ///   - retryAfter: The wait that the other side requested. The decided wait is never shorter.
    ///   - random: A number drawn evenly from `0..<1`, which the jitter uses.
    public func decide(
        afterTry number: Int, code: String, isRetryable: Bool, retryAfter: Duration? = nil,
        random: Double
    ) -> Decision {
        guard number < tries else { return .stop }
        let isWorthIt =
            switch failures {
            case .retryable: isRetryable
            case .any: true
            case .codes(let codes): codes.contains(code)
            }
        guard isWorthIt else { return .stop }
        var wait = delay.duration(afterTry: number)
        if jitter == .full { wait = wait * random }
        return .retry(after: max(wait, retryAfter ?? .zero))
    }
}

extension RetryPolicy.Delay {
    /// The full delay after the failed try `number` (from 1), before jitter.
    public func duration(afterTry number: Int) -> Duration {
        switch self {
        case .none:
            return .zero
        case .constant(let delay):
            return delay
        case .exponential(let initial, let multiplier, let cap):
            var delay = initial
            for _ in 1..<max(number, 1) {
                // The loop may stop after the first value above the cap. A Duration overflows after 2^127 attoseconds.
                if delay >= cap || delay <= .zero || multiplier == 1 { break }
                delay = delay * multiplier
            }
            return min(delay, cap)
        case .list(let delays):
            return delays.isEmpty ? .zero : delays[min(number, delays.count) - 1]
        }
    }
}

extension RetryPolicy {
    /// Decides what follows a failed try. A failure that is not an ``OperationFailure`` counts as retryable, with an
    /// empty code.
    ///
    /// - Parameters:
    ///   - number: The number of the failed try, from 1.
    ///   - failure: The failure of the try.
    ///   - random: A number drawn evenly from `0..<1`, which the jitter uses.
    public func decide(afterTry number: Int, failure: any Error, random: Double) -> Decision {
        let known = failure as? any OperationFailure
        return decide(
            afterTry: number, code: known?.code ?? "", isRetryable: known?.isRetryable ?? true,
            retryAfter: known?.retryAfter, random: random)
    }
}
