import Foundation

/// A network layer that is awaited, over one that calls back.
public struct CallbackToAsyncAwaitAdapter: AsyncAwaitNetwork {
    private let service: any CallbackNetwork

    public init(service: any CallbackNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) async throws -> T {
        try await service.operation(T.self).wait(url)
    }
}

/// A network layer that is awaited, over one that publishes.
public struct CombineToAsyncAwaitAdapter: AsyncAwaitNetwork {
    private let service: any CombineNetwork

    public init(service: any CombineNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) async throws -> T {
        try await service.operation(T.self).wait(url)
    }
}

/// A network layer that is awaited, over one that is awaited.
public struct AsyncAwaitToAsyncAwaitAdapter: AsyncAwaitNetwork {
    private let service: any AsyncAwaitNetwork

    public init(service: any AsyncAwaitNetwork) { self.service = service }

    public func get<T: Decodable>(url: URL) async throws -> T {
        try await service.operation(T.self).wait(url)
    }
}
