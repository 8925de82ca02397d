import Foundation
@preconcurrency import OpenCombine
import OperationTypes

// Services that get users from `<base>/users/<id>`, one for each calling style. Each works on any network layer of its
// style, including an adapter.

/// Gets users, with callbacks.
public struct CallbackUserService: Sendable {
    private let network: any CallbackNetwork
    private let base: URL

    public init(network: any CallbackNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    /// Gets a user. Calls `callback` exactly once; see ``CallbackNetwork/get(url:callback:)``.
    @discardableResult
    public func getUser(id: Int, callback: @escaping @Sendable (Result<User, any Error>) -> Void)
        -> CancellationTokenSource
    {
        network.get(url: base.user(id), callback: callback)
    }
}

/// Gets users, with publishers.
public struct CombineUserService: Sendable {
    private let network: any CombineNetwork
    private let base: URL

    public init(network: any CombineNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    /// A publisher of a user. Each subscription makes one request; see ``CombineNetwork/get(url:)``.
    public func getUser(id: Int) -> AnyPublisher<User, any Error> { network.get(url: base.user(id)) }
}

/// Gets users, with async functions.
public struct AsyncAwaitUserService: Sendable {
    private let network: any AsyncAwaitNetwork
    private let base: URL

    public init(network: any AsyncAwaitNetwork, base: URL) {
        self.network = network
        self.base = base
    }

    /// Gets a user.
    ///
    /// - Throws: The error of ``AsyncAwaitNetwork/get(url:)``.
    public func getUser(id: Int) async throws -> User { try await network.get(url: base.user(id)) }
}

extension URL {
    fileprivate func user(_ id: Int) -> URL { appendingPathComponent("users").appendingPathComponent("\(id)") }
}
