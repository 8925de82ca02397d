import Foundation
import Operations

extension Future {
    /// The wait before another attempt, in seconds.
    public enum Delay: Sendable {
        case seconds(TimeInterval)
        /// `initial · multiplier^(attempt − 1)`, never above `maxDelay`.
        case exponential(initial: TimeInterval, multiplier: Double, maxDelay: TimeInterval)
        /// A wait computed from the number of the failed attempt, counted from 1.
        case custom(closure: @Sendable (Int) -> TimeInterval)

        func seconds(afterAttempt attempt: Int) -> TimeInterval {
            switch self {
            case .seconds(let seconds): seconds
            case .exponential(let initial, let multiplier, let maxDelay):
                min(maxDelay, initial * pow(multiplier, Double(attempt - 1)))
            case .custom(let closure): closure(attempt)
            }
        }
    }

    /// Calls `work` until it succeeds, at most `attempts` times in all. If all attempts fail, the future fails with the
    /// last error.
    ///
    /// The first call is made now, on this thread, further calls on a global queue after `delay`. `shouldRetry` is not
    /// called after the last permitted attempt.
    public static func retry(
        attempts: Int, delay: Delay, shouldRetry: @escaping @Sendable (Error) -> Bool = { _ in true },
        _ work: @escaping @Sendable () -> Future
    ) -> Future {
        retry(work) { error, attempt in
            guard attempt < attempts, shouldRetry(error) else { return nil }
            let seconds = delay.seconds(afterAttempt: attempt)
            // Limits the wait to a century, since Duration has a limited range.
            return seconds > 0 ? .seconds(min(seconds, 3.2e9)) : .zero
        }
    }
}
