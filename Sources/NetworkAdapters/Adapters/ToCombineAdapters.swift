import Foundation
@preconcurrency import OpenCombine

/// A network layer that publishes, over one that calls back.
public struct CallbackToCombineAdapter: CombineNetwork {
    private let service: any CallbackNetwork

    public init(service: any CallbackNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) -> AnyPublisher<T, any Error> {
        service.operation(T.self).publish(url)
    }
}

/// A network layer that publishes, over one that publishes.
public struct CombineToCombineAdapter: CombineNetwork {
    private let service: any CombineNetwork

    public init(service: any CombineNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) -> AnyPublisher<T, any Error> {
        service.operation(T.self).publish(url)
    }
}

/// A network layer that publishes, over one that is awaited.
public struct AsyncAwaitToCombineAdapter: CombineNetwork {
    private let service: any AsyncAwaitNetwork

    public init(service: any AsyncAwaitNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) -> AnyPublisher<T, any Error> {
        service.operation(T.self).publish(url)
    }
}
