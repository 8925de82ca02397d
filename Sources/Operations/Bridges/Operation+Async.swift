import Foundation
import OperationTypes

// An operation can end without a result: by a plain `finish()`, or because it was cancelled before it started. If the
// failure type can express cancellation, waiting throws that failure; otherwise the value is optional.

extension AsyncResultOperation where Success: Sendable {
    /// Waits for the result. It does not start the operation; a queue, or `start()`, does that.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Returns: Nil when there is no result: the task was cancelled first, or the operation finished without one.
    public final func value() async throws(Failure) -> Success? { try await outcome()?.get() }

    private func outcome() async -> Outcome? {
        let waiter = Waiter<Outcome>()
        whenOver { waiter.end(with: $0) }
        return await waiter.outcome(onCancel: cancel)
    }
}

extension AsyncResultOperation where Success: Sendable, Failure: CancellationFailure {
    /// Waits for the result. It does not start the operation; a queue, or `start()`, does that.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Throws: `Failure.cancelled` also when there is no result: the task was cancelled first, or the operation finished
    ///   without one.
    public final func value() async throws(Failure) -> Success {
        guard let outcome = await outcome() else { throw .cancelled }
        return try outcome.get()
    }
}

extension AsyncResultOperation where Success: Sendable, Failure == any Error {
    /// Waits for the result. It does not start the operation; a queue, or `start()`, does that.
    ///
    /// Cancelling the task cancels the operation and ends the wait at once.
    ///
    /// - Throws: `CancellationError` also when there is no result: the task was cancelled first, or the operation finished
    ///   without one.
    public final func value() async throws -> Success {
        guard let outcome = await outcome() else { throw CancellationError() }
        return try outcome.get()
    }
}

extension AsyncResultOperation {
    /// Calls `body` once: with the result as soon as it is decided, or with nil when the operation finishes without
    /// one.
    final func whenOver(_ body: @escaping @Sendable (Outcome?) -> Void) {
        let once = Once(body)
        whenDecided { once.take()?($0) }
        // Unowned: the operation calls this closure, and must not keep itself alive through it.
        whenFinished { [unowned self] in once.take()?(result) }
    }

    /// A future of the result. It does not start the operation; it stays pending if that finishes without a result.
    public final var future: Future<Success, Failure> {
        Future { promise in whenDecided { promise.resolve(result: $0) } }
    }
}
