import OperationTypes
import Testing
import Web
import WebSyntax

/// A configuration that allows connections to loopback.
package func loopbackConfiguration() -> OutgoingConfiguration {
    var configuration = OutgoingConfiguration()
    configuration.policy.allow = [AllowRule("127.0.0.1"), AllowRule("[::1]")].compactMap { $0 }
    return configuration
}

/// Runs `body` with a client that is shut down afterwards.
package func withClient<T>(
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

/// Returns the failure of `body`; records an issue if `body` succeeds.
package func failure<T>(
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

extension TypedOperation {
    /// Runs with a default context. It throws untyped errors, so that it can be used in an expectation.
    package func result(_ input: Input) async throws -> Output { try await run(input, context: OperationContext()) }
}

extension WebURL {
    /// Parses the URL of a test's server.
    package init(_ text: String) throws(KindFailure) {
        do throws(WebURLProblem) { try self.init(parsing: text) } catch { throw .invalidURL(error, field: "url") }
    }
}
