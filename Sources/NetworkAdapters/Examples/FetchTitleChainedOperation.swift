import Foundation
import Kinds
import Operations

/// Fetches a page and reads its title, with a real HTML parser, in whatever encoding the page is.
///
/// SAFETY: What this class adds is immutable and Sendable.
public final class FetchTitleChainedOperation:
    ChainedAsyncResultOperation<URL, String, FetchTitleChainedOperation.Error>, @unchecked Sendable
{
    public enum Error: ExampleError, Equatable {
        case cancelled
        case missingInputURL
        /// The page says none.
        case missingPageTitle
        case underlying(error: KindFailure)
        /// The URL could not be unfurled, by the operation that was to supply it.
        case upstream(UnfurlURLOperation.Error)
    }

    private let client: OutgoingClient

    public init(input: URL? = nil, client: OutgoingClient = .shared) {
        self.client = client
        super.init(input: input)
    }

    public override func main() {
        guard let input else { return finish(with: .failure(.missingInputURL)) }
        Enrich(client: client).start(.init(url: input.absoluteString), cancellation: cancellation) { result in
            self.finish(
                with: result.mapError(Error.init).flatMap { page in
                    page.title.map { .success($0) } ?? .failure(.missingPageTitle)
                })
        }
    }

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
