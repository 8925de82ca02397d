import Foundation
@preconcurrency import OpenCombine
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer with publishers.
public protocol CombineNetwork: Sendable {
    /// A publisher of the decoded content of `url`. Each subscription makes one request when it first demands a value.
    /// Cancelling the subscription cancels the request.
    func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error>
}

/// A network layer with publishers, on a `URLSession`.
public struct CombineNetworkService: CombineNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    /// Creates a service. Its requests use `session`, or a copy of it without a cache.
    public init(session: URLSession = .uncached, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    public func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error> {
        fetch.publisher(url).tryMap { [decoder] in try decoder.value(in: $0) }.eraseToAnyPublisher()
    }
}
