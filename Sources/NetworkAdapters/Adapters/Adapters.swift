import Foundation
@preconcurrency import OpenCombine
import OperationTypes

// The three adapters, one for each calling style. Each adapts a network layer of any style; `Service` names that style.

/// Adapts another network layer to callbacks.
public struct ToCallbackAdapter<Service>: CallbackNetwork {
    let source: NetworkSource

    @discardableResult
    public func get<T: Decodable & Sendable>(
        url: URL, callback: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        source.operation(T.self).start(url, completion: callback)
    }
}

/// Adapts another network layer to publishers.
public struct ToCombineAdapter<Service>: CombineNetwork {
    let source: NetworkSource

    public func get<T: Decodable & Sendable>(url: URL) -> AnyPublisher<T, any Error> {
        source.operation(T.self).publisher(url).eraseToAnyPublisher()
    }
}

/// Adapts another network layer to async functions.
public struct ToAsyncAwaitAdapter<Service>: AsyncAwaitNetwork {
    let source: NetworkSource

    public func get<T: Decodable & Sendable>(url: URL) async throws -> T {
        try await source.operation(T.self).value(url)
    }
}

/// Adapts a network layer with callbacks to callbacks.
public typealias CallbackToCallbackAdapter = ToCallbackAdapter<any CallbackNetwork>
/// Adapts a network layer with publishers to callbacks.
public typealias CombineToCallbackAdapter = ToCallbackAdapter<any CombineNetwork>
/// Adapts a network layer with async functions to callbacks.
public typealias AsyncAwaitToCallbackAdapter = ToCallbackAdapter<any AsyncAwaitNetwork>

/// Adapts a network layer with callbacks to publishers.
public typealias CallbackToCombineAdapter = ToCombineAdapter<any CallbackNetwork>
/// Adapts a network layer with publishers to publishers.
public typealias CombineToCombineAdapter = ToCombineAdapter<any CombineNetwork>
/// Adapts a network layer with async functions to publishers.
public typealias AsyncAwaitToCombineAdapter = ToCombineAdapter<any AsyncAwaitNetwork>

/// Adapts a network layer with callbacks to async functions.
public typealias CallbackToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any CallbackNetwork>
/// Adapts a network layer with publishers to async functions.
public typealias CombineToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any CombineNetwork>
/// Adapts a network layer with async functions to async functions.
public typealias AsyncAwaitToAsyncAwaitAdapter = ToAsyncAwaitAdapter<any AsyncAwaitNetwork>

extension ToCallbackAdapter where Service == any CallbackNetwork {
    /// Creates an adapter of a network layer with callbacks.
    public init(service: Service) { source = .callback(service) }
}

extension ToCallbackAdapter where Service == any CombineNetwork {
    /// Creates an adapter of a network layer with publishers.
    public init(service: Service) { source = .combine(service) }
}

extension ToCallbackAdapter where Service == any AsyncAwaitNetwork {
    /// Creates an adapter of a network layer with async functions.
    public init(service: Service) { source = .asyncAwait(service) }
}

extension ToCombineAdapter where Service == any CallbackNetwork {
    /// Creates an adapter of a network layer with callbacks.
    public init(service: Service) { source = .callback(service) }
}

extension ToCombineAdapter where Service == any CombineNetwork {
    /// Creates an adapter of a network layer with publishers.
    public init(service: Service) { source = .combine(service) }
}

extension ToCombineAdapter where Service == any AsyncAwaitNetwork {
    /// Creates an adapter of a network layer with async functions.
    public init(service: Service) { source = .asyncAwait(service) }
}

extension ToAsyncAwaitAdapter where Service == any CallbackNetwork {
    /// Creates an adapter of a network layer with callbacks.
    public init(service: Service) { source = .callback(service) }
}

extension ToAsyncAwaitAdapter where Service == any CombineNetwork {
    /// Creates an adapter of a network layer with publishers.
    public init(service: Service) { source = .combine(service) }
}

extension ToAsyncAwaitAdapter where Service == any AsyncAwaitNetwork {
    /// Creates an adapter of a network layer with async functions.
    public init(service: Service) { source = .asyncAwait(service) }
}
