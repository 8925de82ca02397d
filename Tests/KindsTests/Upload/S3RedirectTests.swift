import OperationTypes
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Redirects from S3 for buckets that are new or in another region.
@Suite struct S3RedirectTests {
    /// Redirects to the same path at `server` without the query, which AWS may omit.
    private func pointing(to server: LoopbackServer, status: Int = 307) -> LoopbackServer.Handler {
        { [origin = server.origin] in .redirect(status, to: origin + $0.path) }
    }

    /// The store verifies that each request is signed for the server that receives it.
    @Test(arguments: [1000, 3 << 20], [307, 308]) func requestsFollowToAPermittedServer(bytes: Int, status: Int)
        async throws
    {
        let store = PartStore()
        try await LoopbackServer.with {
            store.answer($0)
        } _: { there in
            try await LoopbackServer.with(pointing(to: there, status: status)) { here in
                let output = try await S3Attempt(here, bytes: bytes, origins: [there.origin]).output()
                #expect(output.bytes == Int64(bytes))
                #expect(store.state.withLock { $0.parts.count } == (bytes == 1000 ? 0 : 3))
                #expect(store.state.withLock { $0.isComplete } == (bytes != 1000))
                #expect(there.requests.allSatisfy { $0.header("host") == "127.0.0.1:\(there.port)" })
            }
        }
    }

    @Test(arguments: [1000, 3 << 20]) func nothingGoesToAServerThatIsNotPermitted(bytes: Int) async throws {
        try await LoopbackServer.with { _ in
            .respond(200, [("etag", PartStore.etag)])
        } _: { there in
            try await LoopbackServer.with(pointing(to: there)) { here in
                let failure = try await S3Attempt(here, bytes: bytes).failure()
                #expect(failure?.code == "redirect_refused")
                #expect(failure?.message.contains(there.origin) == true)
                #expect(there.connections == 0 && here.requests.count == 1)
            }
        }
    }

    @Test func redirectsHaveAnEnd() async throws {
        try await LoopbackServer.with {
            .redirect(307, to: $0.path + "x")
        } _: { server in
            let failure = try await S3Attempt(server, bytes: 1000).failure()
            #expect(failure?.code == "too_many_redirects")
            #expect(server.requests.count == 6)
        }
    }
}
