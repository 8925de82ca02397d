import Dispatch
import Foundation
import OperationTypes

extension Future {
    /// The wait before another attempt, in seconds.
    public enum Delay: Sendable {
        case seconds(TimeInterval)
        /// `initial · multiplier^(attempt − 1)`, never above `maxDelay`.
        case exponential(initial: TimeInterval, multiplier: Double, maxDelay: TimeInterval)
        /// Computed from the number of the failed attempt, from 1.
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

    /// Calls `work` until it succeeds, at most `attempts` times in all; fails with the last error.
    ///
    /// The first call is made now, on this thread, the others on a global queue after `delay`. After the last permitted
    /// attempt `shouldRetry` is not asked.
    public static func retry(
        attempts: Int, delay: Delay, shouldRetry: @escaping @Sendable (Error) -> Bool = { _ in true },
        _ work: @escaping @Sendable () -> Future
    ) -> Future {
        retry(cancellation: .none, work) { error, attempt in
            guard attempt < attempts, shouldRetry(error) else { return nil }
            return delay.seconds(afterAttempt: attempt)
        }
    }

    /// Calls `work` as `policy` says; fails with the last error.
    ///
    /// The first call is made now, on this thread, the others on a global queue. A failure that is no `OperationFailure`
    /// counts as one that a retry may help, with the empty code; `random` draws from `0..<1`, for the jitter. Once
    /// `cancellation` cancels no attempt begins, and a wait ends at once with the last error.
    public static func retry(
        _ policy: RetryPolicy, cancellation: CancellationToken = .none,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, _ work: @escaping @Sendable () -> Future
    ) -> Future {
        retry(cancellation: cancellation, work) { error, attempt in
            switch policy.decide(afterTry: attempt, failure: error, random: random()) {
            case .stop: nil
            case .retry(let wait): wait / .seconds(1)
            }
        }
    }

    private static func retry(
        cancellation: CancellationToken, _ work: @escaping @Sendable () -> Future,
        wait: @escaping @Sendable (Error, Int) -> TimeInterval?
    ) -> Future {
        let target = Settlement<Value, Error>()
        let attempts = Attempts(work: work, wait: wait, cancellation: cancellation, target: target)
        attempts.start(1)
        return Future(target)
    }

    /// Attempts, one after the other.
    private final class Attempts: Sendable {
        private let work: @Sendable () -> Future
        private let wait: @Sendable (Error, Int) -> TimeInterval?
        private let cancellation: CancellationToken
        private let target: Settlement<Value, Error>

        init(
            work: @escaping @Sendable () -> Future, wait: @escaping @Sendable (Error, Int) -> TimeInterval?,
            cancellation: CancellationToken, target: Settlement<Value, Error>
        ) {
            self.work = work
            self.wait = wait
            self.cancellation = cancellation
            self.target = target
        }

        func start(_ attempt: Int) {
            work().receive(for: target) { result, target, chain in
                guard case .failure(let error) = result, !self.cancellation.isCancelling,
                    let seconds = self.wait(error, attempt)
                else { return Settlement.of(target).settle(result, &chain) }
                self.pause(seconds, after: attempt, result)
            }
        }

        private func pause(_ seconds: TimeInterval, after attempt: Int, _ result: Result) {
            let next = Once<@Sendable () -> Void> { self.start(attempt + 1) }
            let registration = cancellation.register {
                if next.take() != nil { self.target.resolve(result) }
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + max(seconds, 0)) {
                registration.unregister()
                next.take()?()
            }
        }
    }
}
