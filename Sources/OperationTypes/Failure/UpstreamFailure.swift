/// A failure type that can wrap the failure of the operation that should have supplied the input.
///
/// If the previous operation in a chain fails, an operation with such a failure type fails with that cause, although the
/// two failure types differ.
public protocol UpstreamFailure: Error {
    /// - Parameter error: The failure of the previous operation.
    static func upstream(_ error: any Error) -> Self
}
