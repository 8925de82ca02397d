/// The name and the types of a kind, without its code.
///
/// Programs that only enqueue jobs and read results declare the signatures of the kinds that they use, with just the
/// fields that they need:
///
/// ```swift
/// enum Unfurl: KindSignature {
///     struct Input: Codable, Sendable { var url: String }
///     struct Output: Codable, Sendable { var final_url: String }
///     typealias Offered = Link
///     static let name = "unfurl"
/// }
/// ```
public protocol KindSignature: Sendable {
    /// The input, a JSON object.
    associatedtype Input: Codable & Sendable
    /// The output.
    associatedtype Output: Codable & Sendable
    /// The type of value that the kind accepts from a dependency. `Never` accepts nothing, `[T]` accepts every output
    /// that offers a `T`, and ``AnyOutput`` accepts any output. If it is the input type itself, the offered value
    /// supplies the missing fields, and ``Kind/accept(_:into:)`` is not called.
    associatedtype Accepted: Codable & Sendable = Never
    /// The type of value that the kind's output offers to a dependent. Default: the type of the output.
    associatedtype Offered: Codable & Sendable = Output

    /// The name that identifies the kind in definitions, results and logs: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
    static var name: String { get }
}
