import Foundation
import OperationTypes

// Failures that can say "cancelled" need no other for a run without a result.

extension AdaptedOperation where Failure: CancellationFailure {
    /// From work that calls back. Of several calls the first counts; a run that is cancelled first ends with `Failure.cancelled`.
    public init(
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(missingResult: .cancelled, callback: start)
    }

    /// From a future. A run that is cancelled before it is resolved ends with `Failure.cancelled`.
    public init(future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>) {
        self.init(missingResult: .cancelled, future: make)
    }

    /// From a Foundation operation, which is started, by `queue` or else by itself, and cancelled with the context. Without a
    /// result the run ends with `Failure.cancelled`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: OperationQueue? = nil
    ) {
        self.init(missingResult: .cancelled, operation: make, on: queue)
    }

    /// From a Foundation operation, as above, started by a ``LinearOperationQueue``.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: LinearOperationQueue
    ) {
        self.init(missingResult: .cancelled, operation: make, on: queue)
    }
}

extension AdaptedOperation where Failure == any Error {
    /// From work that calls back. Of several calls the first counts; a run that is cancelled first ends with `CancellationError`.
    public init(
        callback start:
            @escaping @Sendable (
                Input, OperationContext, @escaping @Sendable (Result<Output, Failure>) -> Void
            ) -> Void
    ) {
        self.init(missingResult: CancellationError(), callback: start)
    }

    /// From a future. A run that is cancelled before it is resolved ends with `CancellationError`.
    public init(future make: @escaping @Sendable (Input, OperationContext) -> Future<Output, Failure>) {
        self.init(missingResult: CancellationError(), future: make)
    }

    /// From a Foundation operation, which is started, by `queue` or else by itself, and cancelled with the context. Without a
    /// result the run ends with `CancellationError`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: OperationQueue? = nil
    ) {
        self.init(missingResult: CancellationError(), operation: make, on: queue)
    }

    /// From a Foundation operation, as above, started by a ``LinearOperationQueue``.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: LinearOperationQueue
    ) {
        self.init(missingResult: CancellationError(), operation: make, on: queue)
    }
}
