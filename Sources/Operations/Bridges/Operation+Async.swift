import Foundation
import OperationTypes

// An operation can end without a result: through a plain `finish()`, or because it was cancelled before it started. If
// the failure type can express cancellation, waiting then throws that failure; otherwise the returned value is
// optional.

extension AsyncResultOperation where Success: Sendable {
    /// Waits for the result. Does not start the operation: add it to a queue, or call `start()`.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Returns: The value. Nil if there is no result: the task was cancelled first, or the operation finished without
    ///   a result.
    /// - Throws: The operation's failure.
    public final func value() async throws(Failure) -> Success? { try await outcome()?.get() }

    private func outcome() async -> Outcome? {
        let waiter = Waiter<Outcome>()
        whenOver { waiter.end(with: $0) }
        return await waiter.outcome(onCancel: cancel)
    }
}

extension AsyncResultOperation where Success: Sendable, Failure: CancellationFailure {
    /// Waits for the result. Does not start the operation: add it to a queue, or call `start()`.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Throws: The operation's failure. `Failure.cancelled` if there is no result: the task was cancelled first, or
    ///   the operation finished without a result.
    public final func value() async throws(Failure) -> Success {
        guard let outcome = await outcome() else { throw .cancelled }
        return try outcome.get()
    }
}

extension AsyncResultOperation where Success: Sendable, Failure == any Error {
    /// Waits for the result. Does not start the operation: add it to a queue, or call `start()`.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Throws: The operation's failure. `CancellationError` if there is no result: the task was cancelled first, or
    ///   the operation finished without a result.
    public final func value() async throws -> Success {
        guard let outcome = await outcome() else { throw CancellationError() }
        return try outcome.get()
    }
}

extension AsyncResultOperation {
    /// Calls `body` once: with the result as soon as it is decided, or with nil if the operation finishes without a
    /// result.
    final func whenOver(_ body: @escaping @Sendable (Outcome?) -> Void) {
        let once = Once(body)
        whenDecided { once.take()?($0) }
        // The reference is unowned, because the operation stores this closure and must not keep itself alive through
        // it.
        whenFinished { [unowned self] in once.take()?(result) }
    }

    /// A future of the operation's result. Does not start the operation. The future stays pending if the operation
    /// finishes without a result.
    public final var future: Future<Success, Failure> {
        Future { promise in whenDecided { promise.resolve(result: $0) } }
    }
}
