/// A failure type that can wrap the failure of the operation that should have supplied the input.
///
/// If the previous operation in a chain fails, an operation with such a failure type fails with a failure that wraps
/// the cause, even if the two failure types differ.
public protocol UpstreamFailure: Error {
    /// Returns a failure that wraps the failure of the previous operation.
    static func upstream(_ error: any Error) -> Self
}
