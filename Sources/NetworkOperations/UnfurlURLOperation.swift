import Foundation
import Kinds
import Operations
import Web

/// Follows the redirects of a short URL. The result is the last URL.
///
/// SAFETY: This class adds only immutable values that are Sendable.
public final class UnfurlURLOperation: AsyncResultOperation<URL, UnfurlURLOperation.Error>, @unchecked Sendable {
    /// The reason why there is no URL.
    public enum Error: ExampleError, Equatable {
        case cancelled
        /// The last response contains no usable URL.
        case missingRedirectURL
        case underlying(error: KindFailure)
    }

    private let shortURL: URL
    private let client: OutgoingClient

    /// Creates an operation that unfurls `shortURL` through `client`.
    public init(shortURL: URL, client: OutgoingClient = .shared) {
        self.shortURL = shortURL
        self.client = client
    }

    /// Starts the requests.
    public override func main() {
        client.unfurl(shortURL, cancellation: cancellation) { self.finish(with: $0) }
    }
}

/// Follows the redirects of a short URL, which is given to the initializer or is the output of a dependency. The result
/// is the last URL.
///
/// SAFETY: This class adds only immutable values that are Sendable.
public final class UnfurlURLChainedOperation:
    ChainedAsyncResultOperation<URL, URL, UnfurlURLChainedOperation.Error>, @unchecked Sendable
{
    /// The reason why there is no URL.
    public enum Error: CancellationFailure, Equatable {
        case cancelled
        case missingInputURL
        case unfurling(UnfurlURLOperation.Error)
    }

    private let client: OutgoingClient

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - shortURL: The URL to unfurl. If nil, a dependency supplies it. Default: nil.
    ///   - client: The client for the requests.
    public init(shortURL: URL? = nil, client: OutgoingClient = .shared) {
        self.client = client
        super.init(input: shortURL)
    }

    /// Starts the requests. Fails with `missingInputURL` if there is no URL.
    public override func main() {
        guard let input else { return finish(with: .failure(.missingInputURL)) }
        client.unfurl(input, cancellation: cancellation) { result in
            self.finish(with: result.mapError { $0 == .cancelled ? .cancelled : .unfurling($0) })
        }
    }
}

extension OutgoingClient {
    fileprivate func unfurl(
        _ url: URL, cancellation: CancellationToken,
        _ completion: @escaping @Sendable (Result<URL, UnfurlURLOperation.Error>) -> Void
    ) {
        Unfurl(client: self).start(.init(url: url.absoluteString), cancellation: cancellation) { result in
            completion(
                result.mapError(UnfurlURLOperation.Error.init).flatMap { output in
                    URL(string: output.finalURL).map { .success($0) } ?? .failure(.missingRedirectURL)
                })
        }
    }
}
