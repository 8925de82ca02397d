import Foundation
@preconcurrency import OpenCombine
import OperationTypes

// From a service of any style, three adapters: one for each style of those who call. `Service` says which it is over.

/// A network layer that calls back, over another.
public struct ToCallbackAdapter<Service>: CallbackNetwork {
    let source: NetworkSource

    @discardableResult
    public func get<T: Decodable & Sendable>(
        url: URL, callback: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        source.operation(T.self).start(url, completion: callback)
    }
}

/// A network layer of publishers, over another.
public struct ToCombineAdapter<Service>: CombineNetwork {
    let source: NetworkSource

    public func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error> {
        source.operation(T.self).publisher(url).eraseToAnyPublisher()
    }
}

/// A network layer that is awaited, over another.
public struct ToAsyncAwaitAdapter<Service>: AsyncAwaitNetwork {
    let source: NetworkSource

    public func get<T: Decodable & Sendable>(url: URL) async throws -> T {
        try await source.operation(T.self).value(url)
    }
}

public typealias CallbackToCallbackAdapter = ToCallbackAdapter<any CallbackNetwork>
public typealias CombineToCallbackAdapter = ToCallbackAdapter<any CombineNetwork>
public typealias AsyncAwaitToCallbackAdapter = ToCallbackAdapter<any AsyncAwaitNetwork>

public typealias CallbackToCombineAdapter = ToCombineAdapter<any CallbackNetwork>
public typealias CombineToCombineAdapter = ToCombineAdapter<any CombineNetwork>
public typealias AsyncAwaitToCombineAdapter = ToCombineAdapter<any AsyncAwaitNetwork>

public typealias CallbackToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any CallbackNetwork>
public typealias CombineToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any CombineNetwork>
public typealias AsyncAwaitToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any AsyncAwaitNetwork>

extension ToCallbackAdapter where Service == any CallbackNetwork {
    public init(service: Service) { source = .callback(service) }
}

extension ToCallbackAdapter where Service == any CombineNetwork {
    public init(service: Service) { source = .combine(service) }
}

extension ToCallbackAdapter where Service == any AsyncAwaitNetwork {
    public init(service: Service) { source = .asyncAwait(service) }
}

extension ToCombineAdapter where Service == any CallbackNetwork {
    public init(service: Service) { source = .callback(service) }
}

extension ToCombineAdapter where Service == any CombineNetwork {
    public init(service: Service) { source = .combine(service) }
}

extension ToCombineAdapter where Service == any AsyncAwaitNetwork {
    public init(service: Service) { source = .asyncAwait(service) }
}

extension ToAsyncAwaitAdapter where Service == any CallbackNetwork {
    public init(service: Service) { source = .callback(service) }
}

extension ToAsyncAwaitAdapter where Service == any CombineNetwork {
    public init(service: Service) { source = .combine(service) }
}

extension ToAsyncAwaitAdapter where Service == any AsyncAwaitNetwork {
    public init(service: Service) { source = .asyncAwait(service) }
}
