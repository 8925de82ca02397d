import OperationTypes

extension Future where Value: Sendable {
    /// Waits for the result without blocking a thread.
    ///
    /// A future cannot be cancelled; give the source that cancels its work to ``get(cancelling:)``.
    public func get() async throws(Error) -> Value { try await outcome().get() }

    /// Waits for the result; cancelling the task cancels `source`. The result is still waited for.
    public func get(cancelling source: CancellationTokenSource) async throws(Error) -> Value {
        try await withTaskCancellationHandler {
            await outcome()
        } onCancel: {
            source.cancel()
        }.get()
    }

    /// Runs `work` in a task of its own, which `cancellation` cancels, as a future of its result.
    public static func task(
        priority: TaskPriority? = nil, cancellation: CancellationToken = .none,
        _ work: @escaping @Sendable () async throws(Error) -> Value
    ) -> Future {
        AdaptedOperation<Void, Value, Error> { (_, _) async throws(Error) in try await work() }
            .future((), priority: priority, cancellation: cancellation)
    }

    func deliver(to waiter: Waiter<Result>) {
        unscheduled.receive(for: waiter) { result, _, _ in waiter.end(with: result) }
    }

    func outcome() async -> Result {
        if let result { return result }
        return await withUnsafeContinuation { continuation in
            let waiter = Resumption(continuation)
            unscheduled.receive(for: waiter) { result, _, _ in waiter.continuation.resume(returning: result) }
        }
    }

    private final class Resumption: Sendable {
        let continuation: UnsafeContinuation<Result, Never>
        init(_ continuation: UnsafeContinuation<Result, Never>) { self.continuation = continuation }
    }
}
