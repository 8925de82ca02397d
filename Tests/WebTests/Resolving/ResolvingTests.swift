import NIOHTTP1
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Web

/// Others control the addresses of names; the client controls which addresses it connects to.
@Suite struct ResolvingTests {
    /// Runs `body` with a client that resolves names with `names`.
    private func withNames<T>(
        _ names: @escaping @Sendable (String) -> [String], _ body: (OutgoingClient) async throws -> T
    ) async throws -> T {
        let client = OutgoingClient(loopbackConfiguration()) { name in
            .success(names(name).compactMap { IPAddress($0) })
        }
        do {
            let result = try await body(client)
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    private func status(_ url: String, _ client: OutgoingClient) async throws(KindFailure) -> Int {
        let url = try WebURL(url)
        return try await client.exchange(OutgoingRequest(method: .GET, url: url)) { response throws(KindFailure) in
            await response.discard()
            return response.status
        }
    }

    @Test func onlyTheAddressesThatPassAreLeft() async throws {
        try await withNames { _ in
            ["10.0.0.1", "8.8.8.8", "::ffff:8.8.4.4", "2606:4700::1111", "fe80::1"]
        } _: { client in
            let vetted = try await client.vettedAddresses(for: WebURL(parsing: "http://mixed.example/"))
            #expect(vetted.addresses.map(\.description) == ["8.8.8.8", "2606:4700::1111"])
            #expect(!vetted.isOwn)
        }
    }

    /// The owner of a name changes its address between two requests; the pooled connection must not be used for it.
    @Test func nameThatComesToMeanAnotherAddressIsJudgedAgain() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            let asked = Mutex(0)
            try await withNames { _ in
                asked.withLock { asked in
                    asked += 1
                    return asked == 1 ? ["127.0.0.1"] : ["169.254.169.254"]
                }
            } _: { client in
                let answer = try await status("http://rebinding.example:\(server.port)/", client)
                #expect(answer == 200)
                let failure = await failure { () async throws(KindFailure) in
                    try await status("http://rebinding.example:\(server.port)/", client)
                }
                #expect(failure?.code == "address_refused")
                #expect(asked.withLock { $0 } == 2 && server.requests.count == 1)
            }
        }
    }

    @Test func nextAddressIsTriedWhereOneDoesNotAnswer() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withNames { _ in
                ["::1", "127.0.0.1"]
            } _: { client in
                let answer = try await status("http://two.example:\(server.port)/", client)
                #expect(answer == 200)
                #expect(server.requests.first?.header("host") == "two.example:\(server.port)")
            }
        }
    }
}
