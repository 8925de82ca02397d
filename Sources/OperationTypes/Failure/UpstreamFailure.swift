/// A failure type that can hold the failure of another operation, which was to supply the input.
///
/// With it, an operation in a chain ends with the cause when the operation before it fails, though their failure types
/// differ.
public protocol UpstreamFailure: Error {
    /// - Parameter error: The failure of the operation before.
    static func upstream(_ error: any Error) -> Self
}
