import Foundation
import OperationTypes

/// A network layer that calls back, over one that calls back.
public struct CallbackToCallbackAdapter: CallbackNetwork {
    private let service: any CallbackNetwork

    public init(service: any CallbackNetwork) { self.service = service }

    @discardableResult
    public func get<T: Decodable>(
        url: URL, callback: @escaping (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        service.operation(T.self).call(url, callback)
    }
}

/// A network layer that calls back, over one that publishes.
public struct CombineToCallbackAdapter: CallbackNetwork {
    private let service: any CombineNetwork

    public init(service: any CombineNetwork) { self.service = service }

    @discardableResult
    public func get<T: Decodable>(
        url: URL, callback: @escaping (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        service.operation(T.self).call(url, callback)
    }
}

/// A network layer that calls back, over one that is awaited.
public struct AsyncAwaitToCallbackAdapter: CallbackNetwork {
    private let service: any AsyncAwaitNetwork

    public init(service: any AsyncAwaitNetwork) { self.service = service }

    @discardableResult
    public func get<T: Decodable>(
        url: URL, callback: @escaping (Result<T, any Error>) -> Void
    ) -> CancellationTokenSource {
        service.operation(T.self).call(url, callback)
    }
}
