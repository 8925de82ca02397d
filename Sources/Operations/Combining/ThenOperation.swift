import OperationTypes

extension TypedOperation {
    /// An operation that runs this one, and then `next` with its output as input. If this one fails, `next` does not
    /// run.
    public func then<Next: TypedOperation>(_ next: Next) -> ThenOperation<Self, Next>
    where Next.Input == Output, Next.Failure == Failure {
        ThenOperation(first: self, next: next)
    }

    /// An operation that runs this one, and then `body` with its output. If this one fails, `body` does not run.
    public func then<Next: Sendable>(
        _ body: @escaping @Sendable (Output, OperationContext) async throws(Failure) -> Next
    ) -> ThenOperation<Self, AdaptedOperation<Output, Next, Failure>> {
        ThenOperation(first: self, next: AdaptedOperation(body))
    }

    /// The operation with its failures transformed, so that it can be combined with operations of another failure type.
    public func mapFailure<NewFailure: Error>(
        _ transform: @escaping @Sendable (Failure) -> NewFailure
    ) -> AdaptedOperation<Input, Output, NewFailure> {
        AdaptedOperation { (input, context) async throws(NewFailure) in
            do throws(Failure) { return try await run(input, context: context) } catch { throw transform(error) }
        }
    }
}

/// Two operations that run one after the other as a single operation.
public struct ThenOperation<First: TypedOperation, Next: TypedOperation>: TypedOperation
where Next.Input == First.Output, Next.Failure == First.Failure {
    let first: First
    let next: Next

    /// Runs the first operation, then the next one with its output.
    ///
    /// - Throws: The failure of the operation that failed. If the first one fails, the next one does not run.
    public func run(_ input: First.Input, context: OperationContext) async throws(First.Failure) -> Next.Output {
        try await next.run(first.run(input, context: context), context: context)
    }
}
