import Foundation
import OperationTypes

// These initializers need no `missingResult`, because the failure type can express cancellation.

extension AdaptedOperation where Failure: CancellationFailure {
    /// Adapts work that calls back. Only the first call counts. A run that is cancelled before that call ends with
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

    /// Adapts a Foundation operation. Each run creates an operation, which `queue` starts, or which starts directly if
    /// `queue` is nil. Cancelling the run cancels the operation. A run without a result ends with `Failure.cancelled`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: (any OperationQueueProtocol)? = nil
    ) {
        self.init(missingResult: .cancelled, operation: make, on: queue)
    }
}

extension AdaptedOperation where Failure == any Error {
    /// Adapts work that calls back. Only the first call counts. A run that is cancelled before that call ends with
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

    /// Adapts a Foundation operation. Each run creates an operation, which `queue` starts, or which starts directly if
    /// `queue` is nil. Cancelling the run cancels the operation. A run without a result ends with `CancellationError`.
    public init(
        operation make: @escaping @Sendable (Input) -> AsyncResultOperation<Output, Failure>,
        on queue: (any OperationQueueProtocol)? = nil
    ) {
        self.init(missingResult: CancellationError(), operation: make, on: queue)
    }
}
