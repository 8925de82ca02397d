import OperationTypes

// A task that waits for a future stops waiting when it is cancelled. If the error type can express cancellation, that
// error is thrown; otherwise the value is optional.

extension Future {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait; the future's work continues.
    ///
    /// - Returns: Nil when the task was cancelled first.
    @inlinable
    @discardableResult
    public func get() async throws(Error) -> Value? { try await outcome()?.get() }

    /// Waits for the result without blocking a thread. Cancelling the task cancels `source`, and ends the wait.
    ///
    /// - Returns: Nil when the task was cancelled first.
    @inlinable
    @discardableResult
    public func get(cancelling source: CancellationTokenSource) async throws(Error) -> Value? {
        try await outcome(onCancel: source.cancel)?.get()
    }
}

extension Future where Error: CancellationFailure {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait with `Error.cancelled`; the future's
    /// work continues.
    @inlinable
    public func get() async throws(Error) -> Value {
        guard let outcome = await outcome() else { throw .cancelled }
        return try outcome.get()
    }

    /// Waits for the result without blocking a thread. Cancelling the task cancels `source`, and ends the wait with
    /// `Error.cancelled`.
    @inlinable
    public func get(cancelling source: CancellationTokenSource) async throws(Error) -> Value {
        guard let outcome = await outcome(onCancel: source.cancel) else { throw .cancelled }
        return try outcome.get()
    }
}

extension Future where Error == any Swift.Error {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait with `CancellationError`; the
    /// future's work continues.
    @inlinable
    public func get() async throws -> Value {
        guard let outcome = await outcome() else { throw CancellationError() }
        return try outcome.get()
    }

    /// Waits for the result without blocking a thread. Cancelling the task cancels `source`, and ends the wait with
    /// `CancellationError`.
    @inlinable
    public func get(cancelling source: CancellationTokenSource) async throws -> Value {
        guard let outcome = await outcome(onCancel: source.cancel) else { throw CancellationError() }
        return try outcome.get()
    }
}

extension Future {
    /// Runs `work` in a new task, which `cancellation` cancels, and returns a future of its result.
    public static func task(
        priority: TaskPriority? = nil, cancellation: CancellationToken = .none,
        _ work: @escaping @Sendable () async throws(Error) -> Value
    ) -> Future {
        AdaptedOperation<Void, Value, Error> { (_, _) async throws(Error) in try await work() }
            .future((), priority: priority, cancellation: cancellation)
    }

    /// Waits for the result even when the task is cancelled. Use it for futures that end on cancellation.
    func settledResult() async -> Result {
        if let result { return result }
        return await withUnsafeContinuation { continuation in
            let claim = Claim("A run of an operation never ends", of: Future.self)
            receive(for: claim) { result, _, _ in continuation.resume(returning: result) }
        }
    }

    @inlinable
    func deliver(to waiter: Waiter<Result>) {
        // SAFETY: The target of a handler is the object it was created with.
        receive(for: waiter) { result, target, _ in unsafeDowncast(target, to: Waiter<Result>.self).end(with: result) }
    }

    /// The result, or nil when the task was cancelled before there was one.
    @inlinable
    func outcome(onCancel: @Sendable () -> Void = {}) async -> Result? {
        if let result { return result }
        guard case .shared(let settlement) = source else { return nil }
        await settlement.sleep(onCancel: onCancel)
        return settlement.result
    }
}
