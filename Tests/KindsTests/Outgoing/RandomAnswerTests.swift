import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web
import WebSyntax

@testable import Kinds

/// A server with random responses: each request ends with an output or a failure, and the client can send the next one.
@Suite struct RandomAnswerTests {
    private static let heads = [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.0 302 Found\r\nlocation: /next\r\n\r\n",
        "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nbytes", "HTTP/1.1 104 \r\nlocation: /u\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", "",
    ]

    private func answer(_ random: inout SplitMix) -> LoopbackServer.Answer {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            bytes += Array((Self.heads.randomElement(using: &random) ?? "").utf8)
        }
        if !bytes.isEmpty, Int.random(in: 0..<3, using: &random) == 0 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
        }
        return .raw(bytes, closes: Bool.random(using: &random))
    }

    @Test func everyRequestEnds() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        let random = Mutex(SplitMix(seed: seed))
        var configuration = loopbackConfiguration()
        configuration.limits.idle = .milliseconds(100)
        let answer: LoopbackServer.Handler = { request in
            request.path == "/sound" ? .respond(200) : random.withLock { self.answer(&$0) }
        }
        try await LoopbackServer.with(answer, greeting: answer) { server in
            try await withClient(configuration) { client in
                let ended = Counter()
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<160 {
                        group.addTask {
                            // The result does not matter, only that there is one.
                            let context = OperationContext()
                            switch number % 3 {
                            case 0:
                                _ = try? await Unfurl(client: client).run(
                                    .init(url: "\(server.origin)/?\(number)"), context: context)
                            case 1:
                                let body = String(repeating: "x", count: number % 2 == 0 ? 2 << 20 : 10)
                                _ = try? await Upload(client: client).run(
                                    .init(to: server.origin, body: body), context: context)
                            default:
                                _ = try? await Enrich(client: client).run(
                                    .init(url: "\(server.origin)/?\(number)"), context: context)
                            }
                            _ = ended.next()
                        }
                        if number % 16 == 15 { await group.next() }
                    }
                }
                #expect(ended.next() == 161, "seed \(seed)")
                let url = try WebURL(parsing: server.origin + "/sound")
                let status = try await client.exchange(OutgoingRequest(method: .GET, url: url)) {
                    response throws(KindFailure) in
                    await response.discard()
                    return response.status
                }
                #expect(status == 200, "seed \(seed)")
            }
        }
    }
}
