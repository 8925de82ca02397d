import Foundation
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network layer that is awaited.
public protocol AsyncAwaitNetwork: Sendable {
    /// Gets and decodes the content of `url`. Cancelling the task cancels the request.
    func get<T: Decodable & Sendable>(url: URL) async throws -> T
}

public struct AsyncAwaitNetworkService: AsyncAwaitNetwork {
    private let fetch: NetworkFetch
    private let decoder: JSONDecoder

    public init(session: URLSession = .uncached, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    public func get<T: Decodable & Sendable>(url: URL) async throws -> T {
        try decoder.value(in: await fetch.value(url))
    }
}
