/// A failure type with a value for cancellation.
///
/// A caller that cancels an operation with such a failure type receives that value at once, even if the work takes
/// longer to stop. Only the method `value` of a ``TypedOperation`` waits for the work.
public protocol CancellationFailure: Error {
    /// The failure of a cancelled operation.
    static var cancelled: Self { get }
}

extension CancellationError: CancellationFailure {
    public static var cancelled: CancellationError { CancellationError() }
}

/// The value of `Failure` for a cancellation: `cancelled` if the type is a ``CancellationFailure``, `CancellationError`
/// if it is `any Error`, and otherwise nil.
public func cancellationFailure<Failure: Error>(_: Failure.Type = Failure.self) -> Failure? {
    if let type = Failure.self as? any CancellationFailure.Type { return type.cancelled as? Failure }
    return CancellationError() as? Failure
}
