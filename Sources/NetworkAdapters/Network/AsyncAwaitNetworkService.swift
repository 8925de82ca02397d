import Foundation
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer with async functions.
public protocol AsyncAwaitNetwork: Sendable {
    /// Gets and decodes the content of `url`. Cancelling the task cancels the request.
    ///
    /// - Throws: ``NetworkError``, unless an adapter passes on another error. Repeating the request is safe.
    func get<T: Decodable & Sendable>(url: URL) async throws -> T
}

/// A network layer with async functions, on a `URLSession`.
public struct AsyncAwaitNetworkService: AsyncAwaitNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    /// Creates a service. Its requests use `session`, or a copy of it without a cache.
    public init(session: URLSession = .uncached, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    public func get<T: Decodable & Sendable>(url: URL) async throws -> T {
        try decoder.value(in: await fetch.value(url))
    }
}
