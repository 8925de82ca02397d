import OperationTypes
import Synchronization
import Testing

@testable import Kinds

/// A configuration that may reach loopback.
func loopbackConfiguration() -> OutgoingConfiguration {
    var configuration = OutgoingConfiguration()
    configuration.policy.allow = [AllowRule("127.0.0.1"), AllowRule("[::1]")].compactMap { $0 }
    return configuration
}

/// Runs `body` with a client that is shut down afterwards.
func withClient<T>(
    _ configuration: OutgoingConfiguration = loopbackConfiguration(), _ body: (OutgoingClient) async throws -> T
) async throws -> T {
    let client = OutgoingClient(configuration)
    do {
        let result = try await body(client)
        await client.shutdown()
        return result
    } catch {
        await client.shutdown()
        throw error
    }
}

/// The failure that `body` ends with; records an issue when it does not fail.
func failure<T>(
    _ body: () async throws(KindFailure) -> T, sourceLocation: SourceLocation = #_sourceLocation
) async -> KindFailure? {
    do throws(KindFailure) {
        let value = try await body()
        Issue.record("succeeded with \(value)", sourceLocation: sourceLocation)
        return nil
    } catch {
        return error
    }
}

/// Counts from one.
final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}

/// A signal that tests await in place of waiting some time.
typealias Signal = Latch<Void>

extension TypedOperation {
    /// Without a context of its own; throws untyped, so that it can stand in an expectation.
    func result(_ input: Input) async throws -> Output { try await run(input, context: OperationContext()) }
}
