import Foundation
import OperationTypes

// The ways to run a typed operation. Cancelling either side cancels the other, failures keep their type, and each
// waiting caller is answered exactly once. If the failure type can express cancellation (`cancellationFailure(_:)`), a
// cancelled run ends at once for the callers of `start` and `future`. Otherwise, and for the caller of `value`, it ends
// when the operation does.

extension TypedOperation {
    /// Starts the operation and calls `completion` once with its result.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt for the operation's context, from 1.
    ///   - priority: The priority of the task that runs the operation.
    ///   - cancellation: Cancels this run.
    ///   - onProgress: Called with the progress that the operation reports.
    ///   - completion: Called exactly once, on an unspecified thread.
    /// - Returns: A source that also cancels this run. It may be ignored.
    @discardableResult
    public func start(
        _ input: Input, attempt: Int = 1, priority: TaskPriority? = nil, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<Output, Failure>) -> Void
    ) -> CancellationTokenSource {
        let source = CancellationTokenSource()
        let completion = Once(completion)
        let parent = cancellation.register { source.cancel() }
        let context = OperationContext(attempt: attempt, cancellation: source.token, onProgress: onProgress)
        // The completion reports the end of this task. The source cancels the task.
        let task = Task.detached(priority: priority) {
            let result = await result(input, context)
            parent.unregister()
            completion.take()?(result)
        }
        source.token.register {
            task.cancel()
            if let failure = cancellationFailure(Failure.self) { completion.take()?(.failure(failure)) }
        }
        return source
    }

    /// Runs the operation and waits until it has ended, even after a cancellation.
    ///
    /// Cancelling the task, or `cancellation`, cancels the operation's token.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt for the operation's context, from 1.
    ///   - cancellation: Cancels this run, in addition to the task.
    ///   - onProgress: Called with the progress that the operation reports.
    /// - Throws: The operation's failure.
    public func value(
        _ input: Input, attempt: Int = 1, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil
    ) async throws(Failure) -> Output {
        let source = CancellationTokenSource()
        let context = OperationContext(attempt: attempt, cancellation: source.token, onProgress: onProgress)
        return try await withTaskCancellationHandler {
            guard cancellation.canCancel else { return await result(input, context) }
            // This task is awaited below. It is a separate task because a token cannot cancel the current one.
            let task = Task { await result(input, context) }
            let parent = cancellation.register { source.cancel() }
            let own = source.token.register { task.cancel() }
            defer {
                parent.unregister()
                own.unregister()
            }
            return await task.value
        } onCancel: {
            source.cancel()
        }.get()
    }

    /// Starts the operation and returns a future of its result.
    ///
    /// When `cancellation` cancels and the failure type can express cancellation, the future fails at once. Otherwise
    /// it is resolved when the operation ends.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt for the operation's context, from 1.
    ///   - priority: The priority of the task that runs the operation.
    ///   - cancellation: Cancels this run.
    ///   - onProgress: Called with the progress that the operation reports.
    @inlinable
    public func future(
        _ input: Input, attempt: Int = 1, priority: TaskPriority? = nil, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil
    ) -> Future<Output, Failure> {
        let target = Settlement<Output, Failure>()
        if cancellation.canCancel {
            start(
                input, attempt: attempt, priority: priority, cancellation: cancellation, onProgress: onProgress
            ) { target.resolve($0) }
        } else {
            // This run cannot be cancelled, so it needs neither a source nor registrations.
            let context = OperationContext(attempt: attempt, onProgress: onProgress)
            // The future reports the end of this task.
            Task.detached(priority: priority) {
                do throws(Failure) {
                    target.resolve(.success(try await run(input, context: context)))
                } catch {
                    target.resolve(.failure(error))
                }
            }
        }
        return Future(.shared(target))
    }

    /// A Foundation operation that runs this operation with `input` when a queue starts it.
    public func operation(_ input: Input) -> QueuedOperation<Self> { QueuedOperation(self, input: input) }

    /// A Foundation operation that takes its input from a dependency. If no dependency supplies an input, it fails with
    /// `missingInput`. If a dependency failed, its failure is the ``ChainedAsyncResultOperation/upstreamFailure``. That
    /// failure also ends this operation if it has the type `Failure`, or if `Failure` is an `UpstreamFailure`, which
    /// wraps it.
    public func operation(missingInput: Failure) -> QueuedOperation<Self> {
        QueuedOperation(self, missingInput: missingInput)
    }

    private func result(_ input: Input, _ context: OperationContext) async -> Result<Output, Failure> {
        do throws(Failure) { return .success(try await run(input, context: context)) } catch { return .failure(error) }
    }
}

/// A Foundation operation that runs a `TypedOperation`.
///
/// If it is cancelled before it starts, the work does not run, unless the failure type cannot express cancellation. In
/// that case the work runs, already cancelled, when the operation is started.
///
/// SAFETY: This class adds only immutable values that are Sendable.
public final class QueuedOperation<Work: TypedOperation>:
    ChainedAsyncResultOperation<Work.Input, Work.Output, Work.Failure>, @unchecked Sendable
{
    private let work: Work
    private let missingInput: Work.Failure?

    init(_ work: Work, input: Work.Input) {
        self.work = work
        missingInput = nil
        super.init(input: input)
    }

    init(_ work: Work, missingInput: Work.Failure) {
        self.work = work
        self.missingInput = missingInput
        super.init()
    }

    /// True if the failure type cannot express cancellation: then only the work can decide how it ended.
    override var runsThoughCancelled: Bool { cancellationFailure == nil }

    /// Starts the work with the input. Fails with `missingInput` if there is no input.
    public override func main() {
        if let input {
            work.start(input, cancellation: cancellation) { self.finish(with: $0) }
        } else if let missingInput {
            finish(with: .failure(missingInput))
        }
    }
}
