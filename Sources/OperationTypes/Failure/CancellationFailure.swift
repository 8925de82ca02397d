/// A failure type that has a value for "it was cancelled".
///
/// With it, cancelling ends an operation with that failure at once, wherever the operation was started.
public protocol CancellationFailure: Error {
    static var cancelled: Self { get }
}

extension CancellationError: CancellationFailure {
    public static var cancelled: CancellationError { CancellationError() }
}

/// The value of `Failure` that says "cancelled", if it has one: that of a ``CancellationFailure``, and
/// `CancellationError` where any error will do.
public func cancellationFailure<Failure: Error>(_: Failure.Type = Failure.self) -> Failure? {
    if let type = Failure.self as? any CancellationFailure.Type { return type.cancelled as? Failure }
    return CancellationError() as? Failure
}
