import Foundation
import Kinds
import Operations
import Pages
import Web

/// Fetches a page and reads its title with an HTML parser, whatever the page's encoding.
///
/// SAFETY: This class adds only immutable values that are Sendable.
public final class FetchTitleChainedOperation:
    ChainedAsyncResultOperation<URL, String, FetchTitleChainedOperation.Error>, @unchecked Sendable
{
    /// The reason why there is no title.
    public enum Error: ExampleError, Equatable {
        case cancelled
        case missingInputURL
        /// The page has no title.
        case missingPageTitle
        case underlying(error: KindFailure)
        /// The operation that should have supplied the URL failed.
        case upstream(UnfurlURLOperation.Error)
    }

    private let client: OutgoingClient

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - input: The URL of the page. If nil, a dependency supplies it. Default: nil.
    ///   - client: The client for the requests.
    public init(input: URL? = nil, client: OutgoingClient = .shared) {
        self.client = client
        super.init(input: input)
    }

    /// Starts the request. Fails with `missingInputURL` if there is no URL.
    public override func main() {
        guard let input else { return finish(with: .failure(.missingInputURL)) }
        Enrich(client: client).start(.init(url: input.absoluteString), cancellation: cancellation) { result in
            self.finish(
                with: result.mapError(Error.init).flatMap { page in
                    page.title.map { .success($0) } ?? .failure(.missingPageTitle)
                })
        }
    }

    /// Translates the failures of the unfurling operations, and of kinds. Nil for other failures.
    public override func failure(fromUpstream error: any Swift.Error) -> Error? {
        switch error {
        case let error as Error: error
        case UnfurlURLOperation.Error.cancelled, UnfurlURLChainedOperation.Error.cancelled: .cancelled
        case let error as UnfurlURLOperation.Error: .upstream(error)
        case UnfurlURLChainedOperation.Error.unfurling(let error): .upstream(error)
        case UnfurlURLChainedOperation.Error.missingInputURL: .missingInputURL
        case let error as KindFailure: .underlying(error: error)
        default: nil
        }
    }
}
