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
        case .transport(let error): "No response from the server: \(error)"
        case .notHTTP: "The response is not an HTTP response."
        case .status(let status, _): "The server answered \(status)."
        case .noData: "The server sent a response without data."
        case .decoding(let error): "The response does not have the expected shape: \(error)"
        case .unknown(let error): "The response could not be decoded: \(error)"
        case .noValue: "The publisher finished without a value."
        }
    }
}
