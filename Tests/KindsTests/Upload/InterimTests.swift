import NIOHTTP1
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// Interim responses (1xx) to uploads.
@Suite struct InterimTests {
    private static let large = String(repeating: "x", count: (1 << 20) + 1)

    private func send(_ body: String, to server: LoopbackServer) async throws(KindFailure) -> Upload.Output {
        let client = OutgoingClient(loopbackConfiguration())
        let upload = Upload(client: client)
        do throws(KindFailure) {
            let output = try await upload.run(Upload.Input(to: server.origin, body: body), context: OperationContext())
            await client.shutdown()
            return output
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// If the client had missed the server's 100, the second request would not have `Expect: 100-continue`.
    @Test func largeBodyWaitsUntilItIsWanted() async throws {
        try await LoopbackServer.with {
            $0.path == "/" ? .redirect(307, to: "/there") : .respond(201)
        } _: { server in
            let output = try await send(Self.large, to: server)
            #expect(output.bytes == Int64(Self.large.utf8.count))
            #expect(server.requests.map { $0.header("expect") } == ["100-continue", "100-continue"])
            #expect(server.requests.allSatisfy { $0.header("halyard-wire") == nil })
            #expect(server.requests.allSatisfy { $0.body.count == Self.large.utf8.count })
        }
    }

    @Test func bodyWaitsForEachServerOfARedirect() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } greeting: {
            $0.path == "/" ? .respond(307, [("location", "/there"), ("connection", "close")]) : .silence
        } _: { server in
            let start = ContinuousClock.now
            _ = try await send(Self.large, to: server)
            #expect(ContinuousClock.now - start >= .seconds(1))
            #expect(server.requests.map(\.path) == ["/there"])
        }
    }

    @Test func smallBodyIsSentAtOnce() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } _: { server in
            _ = try await send("x", to: server)
            #expect(server.requests.first?.header("expect") == nil)
        }
    }

    @Test func serverThatSaysNothingGetsTheBodyAfterASecond() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } greeting: { _ in
            .silence
        } _: { server in
            let start = ContinuousClock.now
            _ = try await send(Self.large, to: server)
            #expect(ContinuousClock.now - start >= .seconds(1))
        }
    }

    @Test func serverThatCannotExpectIsAskedWithoutIt() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } greeting: { _ in
            .respond(417, [("connection", "close")])
        } _: { server in
            let output = try await send(Self.large, to: server)
            #expect(output.status == 201)
            #expect(server.requests.last?.header("expect") == nil)
        }
    }

    @Test func refusalBeforeTheBodySavesIt() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } greeting: { _ in
            .respond(403, [("connection", "close")])
        } _: { server in
            let failure = await failure { () async throws(KindFailure) in try await send(Self.large, to: server) }
            #expect(failure?.code == "unauthorized")
            // The server never received the whole request.
            #expect(server.requests.isEmpty)
        }
    }

    @Test func answersBeforeTheAnswerComeToAnEnd() async throws {
        try await LoopbackServer.with { _ in
            let flood = String(repeating: "HTTP/1.1 104 Go on\r\nlocation: /u\r\n\r\n", count: 1001)
            return .raw(Array((flood + "HTTP/1.1 201 X\r\ncontent-length: 0\r\n\r\n").utf8), closes: false)
        } _: { server in
            let failure = await failure { () async throws(KindFailure) in try await send("x", to: server) }
            #expect(failure?.code == "protocol_error" && failure?.message.contains("1000") == true)
        }
    }
}
