import Foundation
@preconcurrency import OpenCombine
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer of publishers.
public protocol CombineNetwork: Sendable {
    /// A publisher of what is at `url`, decoded. Every subscription makes one request, once it asks for a value, and
    /// cancels it when it is cancelled.
    func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error>
}

public struct CombineNetworkService: CombineNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    public init(session: URLSession = .uncached, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    public func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error> {
        fetch.publisher(url).tryMap { [decoder] in try decoder.value(in: $0) }.eraseToAnyPublisher()
    }
}
