import OperationTypes

// A task that waits for a future stops waiting when it is cancelled. If the error type can express cancellation, the
// wait then throws that error; otherwise the returned value is optional.

extension Future {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait and cancels `source`, if there
    /// is one; otherwise the future's work continues.
    ///
    /// - Returns: The value; nil if the task was cancelled before the future was resolved.
    /// - Throws: The future's error.
    @inlinable
    @discardableResult
    public func get(cancelling source: CancellationTokenSource? = nil) async throws(Error) -> Value? {
        try await outcome(cancelling: source)?.get()
    }
}

extension Future where Error: CancellationFailure {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait and cancels `source`, if there
    /// is one; otherwise the future's work continues.
    ///
    /// - Throws: The future's error, or `Error.cancelled` if the task was cancelled before the future was resolved.
    @inlinable
    public func get(cancelling source: CancellationTokenSource? = nil) async throws(Error) -> Value {
        guard let outcome = await outcome(cancelling: source) else { throw .cancelled }
        return try outcome.get()
    }
}

extension Future where Error == any Swift.Error {
    /// Waits for the result without blocking a thread. Cancelling the task ends the wait and cancels `source`, if there
    /// is one; otherwise the future's work continues.
    ///
    /// - Throws: The future's error, or `CancellationError` if the task was cancelled before the future was resolved.
    @inlinable
    public func get(cancelling source: CancellationTokenSource? = nil) async throws -> Value {
        guard let outcome = await outcome(cancelling: source) else { throw CancellationError() }
        return try outcome.get()
    }
}

extension Future {
    /// Runs `work` in a new task and returns a future of its result. `cancellation` cancels the task. If `Error` can
    /// express cancellation, the future then fails at once; otherwise it is resolved when `work` ends.
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
            let misuse = MisuseReport("A run of an operation never ends", of: Future.self)
            receive(for: misuse) { result, _, _ in continuation.resume(returning: result) }
        }
    }

    @inlinable
    func deliver(to waiter: Waiter<Result>) {
        // SAFETY: The target of a handler is the object it was created with.
        receive(for: waiter) { result, target, _ in unsafeDowncast(target, to: Waiter<Result>.self).end(with: result) }
    }

    /// Waits for the result. Nil if the task was cancelled before the future was resolved.
    @inlinable
    func outcome(cancelling cancellation: CancellationTokenSource?) async -> Result? {
        if let result { return result }
        guard case .shared(let settlement) = source else { return nil }
        await settlement.sleep { cancellation?.cancel() }
        return settlement.result
    }
}
