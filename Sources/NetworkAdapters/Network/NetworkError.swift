import Foundation
import OperationTypes

/// Why a request gave no value. The cases are tried in this order.
public enum NetworkError: CancellationFailure, CustomStringConvertible {
    case cancelled
    /// No answer: no connection, a timeout, a connection that broke.
    case transport(any Error)
    /// What answered does not speak HTTP.
    case notHTTP
    /// A status other than 200 to 299, with what the server said about it.
    case status(Int, body: Data)
    case noData
    case decoding(DecodingError)
    /// The type's own decoding threw something else than a `DecodingError`.
    case unknown(any Error)
    /// A publisher finished without a value.
    case noValue

    public var description: String {
        switch self {
        case .cancelled: "The request was cancelled."
        case .transport(let error): "No answer from the server: \(error)"
        case .notHTTP: "The answer is not one of HTTP."
        case .status(let status, _): "The server answered \(status)."
        case .noData: "The server answered without data."
        case .decoding(let error): "The answer has another shape than was expected: \(error)"
        case .unknown(let error): "The answer could not be decoded: \(error)"
        case .noValue: "The publisher finished without a value."
        }
    }
}
