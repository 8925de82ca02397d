import OperationTypes

extension TypedOperation {
    /// An operation that runs this one and `others` with the same input, and ends with the first result, success or
    /// failure. It then cancels the other runs without waiting for them.
    public func racing(_ others: Self...) -> RacingOperation<Self> { RacingOperation(contestants: [self] + others) }

    /// An operation that runs this one and `others` with the same input, and ends with the first result, success or
    /// failure. It then cancels the other runs without waiting for them.
    public func racing(_ others: [Self]) -> RacingOperation<Self> { RacingOperation(contestants: [self] + others) }

    /// An operation that runs this one with a time limit. If there is no result after `duration`, it fails with
    /// `failure`, and cancels the run without waiting for it.
    public func timeout(
        after duration: Duration, clock: any Clock<Duration> = ContinuousClock(), failure: Failure
    ) -> TimeLimitedOperation<Self> {
        TimeLimitedOperation(work: self, limit: duration, clock: clock, failure: failure)
    }
}

/// Operations that run at the same time until the first has a result.
public struct RacingOperation<Work: TypedOperation>: TypedOperation {
    let contestants: [Work]

    /// Runs all operations with the same input, and cancels the others after the first result.
    ///
    /// - Throws: The failure of the first operation that ends, if it fails.
    public func run(_ input: Work.Input, context: OperationContext) async throws(Work.Failure) -> Work.Output {
        try await context.runDetached { context in
            Future.first(contestants.map { $0.future(input, in: context) })
        }.get()
    }
}

/// An operation with a time limit.
public struct TimeLimitedOperation<Work: TypedOperation>: TypedOperation {
    let work: Work
    let limit: Duration
    let clock: any Clock<Duration>
    let failure: Work.Failure

    /// Runs the operation within the time limit.
    ///
    /// - Throws: The operation's failure, or the failure of the time limit.
    public func run(_ input: Work.Input, context: OperationContext) async throws(Work.Failure) -> Work.Output {
        try await context.runDetached { context in
            work.future(input, in: context).timeout(after: limit, clock: clock, failure: failure)
        }.get()
    }
}

extension OperationContext {
    /// Waits for the future that `start` returns. The context passed to `start` cancels when this context or the task
    /// is cancelled, and when the future has its result.
    fileprivate func runDetached<Output, Failure>(
        _ start: (OperationContext) -> Future<Output, Failure>
    ) async -> Result<Output, Failure> {
        let source = CancellationTokenSource(linkedTo: cancellation)
        let future = start(with(cancellation: source.token))
        defer { source.cancel() }
        return await withTaskCancellationHandler {
            await future.settledResult()
        } onCancel: {
            source.cancel()
        }
    }
}

extension TypedOperation {
    fileprivate func future(_ input: Input, in context: OperationContext) -> Future<Output, Failure> {
        future(input, attempt: context.attempt, cancellation: context.cancellation, onProgress: context.report)
    }
}
