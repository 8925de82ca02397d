import OperationTypes

extension TypedOperation {
    /// The operation, run again as `policy` says when it fails. Each run sees the number of its attempt; `random` draws from
    /// `0..<1`, for the jitter.
    public func retrying(
        _ policy: RetryPolicy, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) -> RetryingOperation<Self> {
        RetryingOperation(work: self, policy: policy, clock: clock, random: random)
    }
}

/// An operation that tries again, in memory, by the rule that the durable engine uses.
public struct RetryingOperation<Work: TypedOperation>: TypedOperation {
    let work: Work
    let policy: RetryPolicy
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double

    /// - Throws: The last failure. Once cancelled, no attempt begins and no wait goes on.
    public func run(_ input: Work.Input, context: OperationContext) async throws(Work.Failure) -> Work.Output {
        var attempt = context.attempt
        while true {
            do throws(Work.Failure) {
                return try await work.run(input, context: context.with(attempt: attempt))
            } catch {
                guard !context.cancellation.isCancelling, !Task.isCancelled,
                    case .retry(let wait) = policy.decide(afterTry: attempt, failure: error, random: random())
                else { throw error }
                // Cancelled while it waits: the failure of the attempt says more than that.
                do { try await clock.sleep(for: wait) } catch _ { throw error }
                attempt += 1
            }
        }
    }
}
