import Foundation
import OperationTypes

extension AsyncResultOperation where Success: Sendable {
    /// Waits for the result. It does not start the operation; a queue, or `start()`, does that.
    ///
    /// Cancelling the task cancels the operation. It is waited for until its result is decided, which a cancellation does at
    /// once where ``cancellationFailure`` is not nil.
    ///
    /// - Precondition: The operation does not finish without a result.
    public final func value() async throws(Failure) -> Success {
        try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Outcome, Never>) in
                whenDecided { continuation.resume(returning: $0) }
                whenFinished {
                    precondition(self.result != nil, "\(self) finished without a result, which somebody waits for")
                }
            }
        } onCancel: {
            cancel()
        }.get()
    }
}
