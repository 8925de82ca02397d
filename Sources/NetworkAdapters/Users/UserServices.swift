import Foundation
@preconcurrency import OpenCombine
import OperationTypes

// Users at `<base>/users/<id>`, for whoever likes which style. Each works over any network layer of its style, also one that
// an adapter makes.

public struct CallbackUserService: Sendable {
    private let network: any CallbackNetwork
    private let base: URL

    public init(network: any CallbackNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    /// Calls back exactly once; see ``CallbackNetwork/get(url:callback:)``.
    @discardableResult
    public func getUser(id: Int, callback: @escaping @Sendable (Result<User, any Error>) -> Void)
        -> CancellationTokenSource
    {
        network.get(url: base.user(id), callback: callback)
    }
}

public struct CombineUserService: Sendable {
    private let network: any CombineNetwork
    private let base: URL

    public init(network: any CombineNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    /// One request for every subscription; see ``CombineNetwork/get(url:)``.
    public func getUser(id: Int) -> AnyPublisher<User, any Error> { network.get(url: base.user(id)) }
}

public struct AsyncAwaitUserService: Sendable {
    private let network: any AsyncAwaitNetwork
    private let base: URL

    public init(network: any AsyncAwaitNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    public func getUser(id: Int) async throws -> User { try await network.get(url: base.user(id)) }
}

extension URL {
    fileprivate func user(_ id: Int) -> URL { appendingPathComponent("users").appendingPathComponent("\(id)") }
}
