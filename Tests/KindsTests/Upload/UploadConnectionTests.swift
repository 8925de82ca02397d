import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

@Suite struct UploadConnectionTests {
    /// The head is larger than the connection's buffers and is followed by a body.
    @Test(arguments: [40_000, 70_000, 700_000]) func largeHeadOfAnUploadIsSent(bytes: Int) async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                for body in ["x", String(repeating: "x", count: 3 << 20)] {
                    let input = Upload.Input(
                        to: server.origin, headers: ["x-large": String(repeating: "a", count: bytes)], body: body)
                    let output = try await Upload(client: client).result(input)
                    #expect(output.status == 200)
                }
            }
        }
    }

    /// The failure names the address only if a connection was attempted.
    @Test func failureNamesTheAddressItWasMetAt() async throws {
        try await LoopbackServer.with {
            $0.path == "/close" ? .close : .respond(500)
        } _: { server in
            try await withClient { client in
                for (to, address) in [
                    ("http://127.0.0.1:1/", "127.0.0.1"), (server.origin + "/close", "127.0.0.1"),
                    ("http://localhost:\(server.port)/", "127.0.0.1"), ("http://10.0.0.1/", nil),
                ] {
                    let failure = await failure { () async throws(KindFailure) in
                        try await Upload(client: client).run(
                            Upload.Input(to: to, body: "x"), context: OperationContext())
                    }
                    #expect(failure?.address == address, "\(to)")
                }
            }
        }
    }
}
