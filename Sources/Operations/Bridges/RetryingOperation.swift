import OperationTypes

extension TypedOperation {
    /// An operation that runs this one, and runs it again after a failure if `policy` allows that. The context of each
    /// run contains the number of its attempt.
    ///
    /// - Parameters:
    ///   - policy: The rule for further attempts and for the waits between them.
    ///   - clock: The clock that measures the waits.
    ///   - random: Returns a number from `0..<1`, which the jitter uses.
    public func retrying(
        _ policy: RetryPolicy, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) -> RetryingOperation<Self> {
        RetryingOperation(work: self, policy: policy, clock: clock, random: random)
    }
}

/// An operation that is tried again after a failure, by the same rule as durable jobs. The attempts are counted only in
/// memory.
public struct RetryingOperation<Work: TypedOperation>: TypedOperation {
    let work: Work
    let policy: RetryPolicy
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double

    /// Runs the work until it succeeds or the policy stops.
    ///
    /// - Throws: The failure of the last attempt. After a cancellation no attempt begins, and a wait ends at once.
    public func run(_ input: Work.Input, context: OperationContext) async throws(Work.Failure) -> Work.Output {
        var attempt = context.attempt
        while true {
            do throws(Work.Failure) {
                return try await work.run(input, context: context.with(attempt: attempt))
            } catch {
                guard !context.cancellation.isCancelling, !Task.isCancelled,
                    case .retry(let wait) = policy.decide(afterTry: attempt, failure: error, random: random())
                else { throw error }
                // The wait was cancelled. The failure of the attempt is more useful than a cancellation error.
                do { try await clock.sleep(for: wait) } catch _ { throw error }
                attempt += 1
            }
        }
    }
}
