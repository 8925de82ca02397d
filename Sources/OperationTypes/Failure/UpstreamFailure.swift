/// A failure type that can wrap the failure of the operation that should have supplied the input.
///
/// With such a type, an operation in a chain fails with the cause when the previous operation fails, although their
/// failure types differ.
public protocol UpstreamFailure: Error {
    /// - Parameter error: The failure of the previous operation.
    static func upstream(_ error: any Error) -> Self
}
