import Foundation
import OperationTypes

extension AsyncResultOperation where Success: Sendable {
    /// Waits for the result. It does not start the operation; a queue, or `start()`, does that.
    ///
    /// Cancelling the task cancels the operation. It is waited for until its result is decided, which a cancellation does at
    /// once where ``cancellationFailure`` is not nil.
    ///
    /// - Precondition: The operation does not finish without a result, as one does that calls plain `finish()`, or is
    ///   cancelled before it starts while ``cancellationFailure`` is nil.
    public final func value() async throws(Failure) -> Success {
        try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Outcome, Never>) in
                whenSureOfResult { continuation.resume(returning: $0) }
            }
        } onCancel: {
            cancel()
        }.get()
    }
}

extension AsyncResultOperation {
    /// Calls `body` with the result, and traps where it would have to wait for ever.
    final func whenSureOfResult(_ body: @escaping (Outcome) -> Void) {
        whenDecided(body)
        // Unowned: the operation itself calls this, and is not to hold itself.
        whenFinished { [unowned self] in
            precondition(
                result != nil,
                "\(self) finished without a result, which somebody waits for; call finish(with:), override cancellationFailure"
            )
        }
    }

    /// A future of the result. It does not start the operation; it stays pending if that finishes without a result.
    public final var future: Future<Success, Failure> {
        Future { promise in whenDecided { promise.resolve(result: $0) } }
    }
}
