import Foundation
import OperationTypes

// A failure type that can express cancellation needs no argument for a run without a result.

extension AdaptedOperation where Failure: CancellationFailure {
    /// Adapts work that calls back. Only the first call counts; a run that is cancelled before it ends with
    /// `Failure.cancelled`.
    public init(
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(missingResult: .cancelled, callback: start)
    }

    /// Adapts a future. A run that is cancelled before the future is resolved ends with `Failure.cancelled`.
    public init(future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>) {
        self.init(missingResult: .cancelled, future: make)
    }

    /// Adapts a Foundation operation, which is started by `queue`, or directly without a queue, and cancelled with the
    /// context. Without a result the run ends with `Failure.cancelled`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: OperationQueue? = nil
    ) {
        self.init(missingResult: .cancelled, operation: make, on: queue)
    }

    /// Adapts a Foundation operation that a ``LinearOperationQueue`` starts.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: LinearOperationQueue
    ) {
        self.init(missingResult: .cancelled, operation: make, on: queue)
    }
}

extension AdaptedOperation where Failure == any Error {
    /// Adapts work that calls back. Only the first call counts; a run that is cancelled before it ends with
    /// `CancellationError`.
    public init(
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(missingResult: CancellationError(), callback: start)
    }

    /// Adapts a future. A run that is cancelled before the future is resolved ends with `CancellationError`.
    public init(future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>) {
        self.init(missingResult: CancellationError(), future: make)
    }

    /// Adapts a Foundation operation, which is started by `queue`, or directly without a queue, and cancelled with the
    /// context. Without a result the run ends with `CancellationError`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: OperationQueue? = nil
    ) {
        self.init(missingResult: CancellationError(), operation: make, on: queue)
    }

    /// Adapts a Foundation operation that a ``LinearOperationQueue`` starts.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: LinearOperationQueue
    ) {
        self.init(missingResult: CancellationError(), operation: make, on: queue)
    }
}
