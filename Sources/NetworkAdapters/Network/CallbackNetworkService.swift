import Foundation
import OperationTypes
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer that calls back.
public protocol CallbackNetwork: Sendable {
    /// Gets and decodes what is at `url`, and calls back exactly once, on an unspecified thread, with an error that is a
    /// ``NetworkError`` unless an adapter in between says otherwise.
    ///
    /// - Returns: Cancels the request, which calls back then too. It may be ignored.
    @discardableResult
    func get<T: Decodable & Sendable>(
        url: URL, callback: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource
}

public struct CallbackNetworkService: CallbackNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    public init(session: URLSession = .uncached, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    @discardableResult
    public func get<T: Decodable & Sendable>(
        url: URL, callback: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        fetch.start(url) { [decoder] result in callback(Result { try decoder.value(in: result.get()) }) }
    }
}
