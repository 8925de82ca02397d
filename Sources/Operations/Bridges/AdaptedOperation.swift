import Foundation
import OperationTypes

/// Work in another calling style, as a `TypedOperation`.
///
/// Each way in takes the work's context, whose token says when to stop. Where the failure type has a word for it
/// (`cancellationFailure(_:)`), the operation then ends at once, and what the work still says is not heard; otherwise it ends
/// when the work does.
public struct AdaptedOperation<Input: Sendable, Output: Sendable, Failure: Error>: TypedOperation {
    private let work: @Sendable (Input, OperationContext) async -> Result<Output, Failure>

    /// From a function.
    public init(_ work: @escaping @Sendable (Input, OperationContext) async throws(Failure) -> Output) {
        self.work = { input, context in
            do throws(Failure) { return .success(try await work(input, context)) } catch { return .failure(error) }
        }
    }

    /// From work that calls back. Of several calls the first counts.
    ///
    /// - Precondition: The work calls back, sooner or later, also when it is cancelled and `Failure` has no word for that.
    public init(
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(future: { input, context in
            Future { promise in start(input, context) { promise.resolve(result: $0) } }
        })
    }

    /// From a future.
    public init(future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>) {
        work = { input, context in
            let promise = Promise<Output, Failure>()
            let registration = context.cancellation.register {
                if let failure = cancellationFailure(Failure.self) { promise.fail(error: failure) }
            }
            defer { registration.unregister() }
            make(input, context).observe(on: Scheduler.immediate).on(
                success: { promise.succeed(value: $0) }, failure: { promise.fail(error: $0) })
            return await promise.future.outcome()
        }
    }

    /// From a Foundation operation, which is started, by `queue` or else by itself, and cancelled with the context.
    ///
    /// - Precondition: The operation does not finish without a result; see ``AsyncResultOperation/value()``.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: OperationQueue? = nil
    ) {
        self.init(operation: make) { operation in
            if let queue { queue.addOperation(operation) } else { operation.start() }
        }
    }

    /// From a Foundation operation, as above, started by a queue of ours.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: LinearOperationQueue
    ) {
        self.init(operation: make) { queue.addOperation($0) }
    }

    private init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        start: @escaping @Sendable (AsyncResultOperation<Output, Failure>) -> Void
    ) {
        self.init(callback: { input, context, completion in
            let operation = make(input)
            let registration = context.cancellation.register { operation.cancel() }
            operation.whenSureOfResult { result in
                registration.unregister()
                completion(result)
            }
            start(operation)
        })
    }

    public func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output {
        try await work(input, context).get()
    }
}
