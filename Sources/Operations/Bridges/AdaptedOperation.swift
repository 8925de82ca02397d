import Foundation
import OperationTypes

/// Work in another calling style, adapted to a `TypedOperation`.
///
/// The work receives a context whose token cancels when the work should stop. A cancelled run ends at once, and a later
/// result is ignored. A callback may never be called, and a Foundation operation may finish without a result. Such a
/// run fails with `Failure.cancelled` if the type is a `CancellationFailure`, with `CancellationError` if it is
/// `any Error`, and otherwise with the argument `missingResult`.
public struct AdaptedOperation<Input: Sendable, Output: Sendable, Failure: Error>: TypedOperation {
    private let work: @Sendable (Input, OperationContext) async -> Result<Output, Failure>

    /// Adapts a function. A run waits for the function to return, even after a cancellation.
    public init(_ work: @escaping @Sendable (Input, OperationContext) async throws(Failure) -> Output) {
        self.work = { input, context in
            do throws(Failure) { return .success(try await work(input, context)) } catch { return .failure(error) }
        }
    }

    /// Adapts work that calls back. Only the first call counts.
    ///
    /// - Parameter missingResult: The failure of a run that is cancelled before the work calls back.
    public init(
        missingResult: Failure,
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(
            missingResult: missingResult,
            future: { input, context in Future { promise in start(input, context) { promise.resolve(result: $0) } } })
    }

    /// Adapts a future.
    ///
    /// - Parameter missingResult: The failure of a run that is cancelled before the future is resolved.
    public init(
        missingResult: Failure,
        future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>
    ) {
        work = { input, context in
            let waiter = Waiter<Result<Output, Failure>>()
            // This closure is registered before the work can register any, so that a result of the work's own
            // cancellation comes second.
            let registration = context.cancellation.register { waiter.end(with: nil) }
            defer { registration.unregister() }
            make(input, context).deliver(to: waiter)
            return await waiter.outcome() ?? .failure(missingResult)
        }
    }

    /// Adapts a Foundation operation. Each run creates an operation, which `queue` starts, or which starts directly if
    /// `queue` is nil. Cancelling the run cancels the operation.
    ///
    /// - Parameter missingResult: The failure of a run that is cancelled before the operation has a result, or whose
    ///   operation finishes without one.
    public init(
        missingResult: Failure,
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: (any OperationQueueProtocol)? = nil
    ) {
        work = { input, context in
            let operation = make(input)
            let waiter = Waiter<Result<Output, Failure>>()
            operation.whenOver { waiter.end(with: $0) }
            let registration = context.cancellation.register {
                operation.cancel()
                waiter.end(with: nil)
            }
            defer { registration.unregister() }
            if let queue { queue.addOperation(operation) } else { operation.start() }
            return await waiter.outcome(onCancel: operation.cancel) ?? .failure(missingResult)
        }
    }

    /// Runs the adapted work once.
    ///
    /// - Throws: The failure of the work, or the failure for a run without a result (see ``AdaptedOperation``).
    public func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output {
        try await work(input, context).get()
    }
}

/// A queue that starts Foundation operations.
public protocol OperationQueueProtocol: Sendable {
    /// Adds an operation, which the queue starts when it is ready and its turn has come.
    func addOperation(_ operation: Operation)
}

extension OperationQueue: OperationQueueProtocol {}

extension LinearOperationQueue: OperationQueueProtocol {}
