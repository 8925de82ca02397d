import Foundation
import OperationTypes

// One typed operation, every calling style. Cancelling either side cancels the other, failures keep their type, and whoever
// waits is told exactly once. Where the failure type has a word for it (`cancellationFailure(_:)`), a cancelled run ends for
// those who wait at once; otherwise when the operation itself does.

extension TypedOperation {
    /// Starts the operation and calls `completion` once, on an unspecified thread. The token `cancellation` cancels this run.
    ///
    /// - Returns: Cancels this run too. It may be ignored.
    @discardableResult
    public func start(
        _ input: Input, attempt: Int = 1, priority: TaskPriority? = nil, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<Output, Failure>) -> Void
    ) -> CancellationTokenSource {
        let source = CancellationTokenSource()
        let ending = Ending(completion)
        let parent = cancellation.register { source.cancel() }
        let context = OperationContext(attempt: attempt, cancellation: source.token, onProgress: onProgress)
        // Awaited by the completion; cancelled by the source.
        let task = Task.detached(priority: priority) {
            let result = await result(input, context)
            parent.unregister()
            ending.end(with: result)
        }
        source.token.register {
            task.cancel()
            if let failure = cancellationFailure(Failure.self) { ending.end(with: .failure(failure)) }
        }
        return source
    }

    /// Runs the operation and waits until it has ended.
    ///
    /// The operation's token cancels when the task does, and when `cancellation` does.
    public func value(
        _ input: Input, attempt: Int = 1, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil
    ) async throws(Failure) -> Output {
        let source = CancellationTokenSource()
        let context = OperationContext(attempt: attempt, cancellation: source.token, onProgress: onProgress)
        return try await withTaskCancellationHandler {
            guard cancellation.canCancel else { return await result(input, context) }
            // Awaited below; a task of its own, since this one cannot be cancelled from here.
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

    /// Starts the operation, as a future of its result.
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
            // This run cannot be cancelled, so it needs no source and no registrations.
            let context = OperationContext(attempt: attempt, onProgress: onProgress)
            // The future waits for this task.
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

    /// The operation with its input, for a queue of Foundation operations; nothing starts before the queue starts it.
    public func operation(_ input: Input) -> QueuedOperation<Self> { QueuedOperation(self, input: input) }

    /// The operation for a queue of Foundation operations, with the output of a dependency as its input. It fails with
    /// `missingInput` when no dependency supplies an input. If a dependency failed,
    /// ``ChainedAsyncResultOperation/upstreamFailure`` is its failure, and a failure type that is an `UpstreamFailure`
    /// wraps it.
    public func operation(missingInput: Failure) -> QueuedOperation<Self> {
        QueuedOperation(self, missingInput: missingInput)
    }

    private func result(_ input: Input, _ context: OperationContext) async -> Result<Output, Failure> {
        do throws(Failure) { return .success(try await run(input, context: context)) } catch { return .failure(error) }
    }
}

/// A completion that is called once, by whoever comes first.
private final class Ending<Outcome: Sendable>: Sendable {
    private let completion: Once<@Sendable (Outcome) -> Void>

    init(_ completion: @escaping @Sendable (Outcome) -> Void) { self.completion = Once(completion) }

    func end(with outcome: Outcome) { completion.take()?(outcome) }
}

/// A `TypedOperation` as a Foundation operation.
///
/// Cancelled before it starts it does not run, unless its failure type has no word for that: it then runs, cancelled, when it
/// is started.
///
/// SAFETY: What this class adds is immutable and Sendable.
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

    /// Without a word for cancellation, the work says itself how it ended.
    override var runsThoughCancelled: Bool { cancellationFailure == nil }

    public override func main() {
        if let input {
            work.start(input, cancellation: cancellation) { self.finish(with: $0) }
        } else if let missingInput {
            finish(with: .failure(missingInput))
        }
    }
}
