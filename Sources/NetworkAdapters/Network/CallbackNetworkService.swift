import Foundation
import OperationTypes
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer with callbacks.
public protocol CallbackNetwork: Sendable {
    /// Gets and decodes the content of `url`. Calls `callback` exactly once, on an unspecified thread. An error is a
    /// ``NetworkError``, unless an adapter passes on another error.
    ///
    /// - Returns: A source that cancels the request. The callback is called then, too. The source may be ignored.
    @discardableResult
    func get<T: Decodable & Sendable>(
        url: URL, callback: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource
}

/// A network layer with callbacks, on a `URLSession`.
public struct CallbackNetworkService: CallbackNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    /// Creates a service. Its requests use `session`, or a copy of it without a cache.
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
