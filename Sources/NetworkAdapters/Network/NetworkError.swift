import Foundation
import OperationTypes

/// The reason why a request returned no value. The causes are checked in the order of the cases.
public enum NetworkError: CancellationFailure, CustomStringConvertible {
    case cancelled
    /// There is no complete response: no connection, a timeout, or a broken connection.
    case transport(any Error)
    /// The response is not an HTTP response.
    case notHTTP
    /// A status other than 200 to 299, with the body of the response.
    case status(Int, body: Data)
    /// The response has an empty body.
    case noData
    /// The body does not have the expected shape.
    case decoding(DecodingError)
    /// Decoding threw an error that is not a `DecodingError`.
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
