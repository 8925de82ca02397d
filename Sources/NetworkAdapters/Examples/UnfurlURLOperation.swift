import Foundation
import Kinds
import Operations

/// Finds out where a short URL leads, through all its redirects.
///
/// SAFETY: What this class adds is immutable and Sendable.
public final class UnfurlURLOperation: AsyncResultOperation<URL, UnfurlURLOperation.Error>, @unchecked Sendable {
    public enum Error: ExampleError, Equatable {
        case cancelled
        /// The last answer named no address that can be used.
        case missingRedirectURL
        case underlying(error: KindFailure)
    }

    private let shortURL: URL
    private let client: OutgoingClient

    public init(shortURL: URL, client: OutgoingClient = .shared) {
        self.shortURL = shortURL
        self.client = client
    }

    public override func main() {
        client.unfurl(shortURL, cancellation: cancellation) { self.finish(with: $0) }
    }
}

/// Finds out where a short URL leads, as a link of a chain: given one, or the output of a dependency.
///
/// SAFETY: What this class adds is immutable and Sendable.
public final class UnfurlURLChainedOperation:
    ChainedAsyncResultOperation<URL, URL, UnfurlURLChainedOperation.Error>, @unchecked Sendable
{
    public enum Error: CancellationFailure, Equatable {
        case cancelled
        case missingInputURL
        case unfurling(UnfurlURLOperation.Error)
    }

    private let client: OutgoingClient

    public init(shortURL: URL? = nil, client: OutgoingClient = .shared) {
        self.client = client
        super.init(input: shortURL)
    }

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
