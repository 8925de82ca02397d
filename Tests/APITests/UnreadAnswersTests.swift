import Foundation
import Jobs
import Testing

@testable import API

/// Responses of any type that callers leave unread.
@Suite struct UnreadAnswersTests {
    private let limits = ServerLimits(reading: .seconds(3600), answerBytes: 160 << 10)

    /// Each peer requests more than its socket's buffer holds, in many small responses, and reads nothing.
    @Test(.timeLimit(.minutes(2))) func answersThatAreNotLargeCountToo() async throws {
        try await TestServer.with(limits: limits) { server in
            let curl = Curl(socket: server.socket)
            let text = String(repeating: "x", count: 40_000)
            let job = try #require(try await server.enqueue(.echo(text)).jobs.first)
            let request = "GET /v1/jobs/\(job) HTTP/1.1\r\nHost: a\r\n\r\n"
            let peers = try await RawPeer.connect(
                4, to: server.socket, sending: String(repeating: request, count: 20))
            // The unread responses reach the user's limit once the server has produced enough of them.
            while try await curl("/v1/jobs/\(job)").status != 503 {}
            #expect(try await curl("/v1/queues").status == 200)
            for peer in peers { peer.hangUp() }
            while try await curl("/v1/jobs/\(job)").status != 200 {}
        }
    }

    @Test(.timeLimit(.minutes(2))) func streamsOfEventsCount() async throws {
        try await TestServer.with(limits: limits) { server in
            func watch() async throws -> (peer: RawPeer, status: String) {
                let peer = try RawPeer(server.socket)
                try peer.send("GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n")
                return (peer, try await peer.read(until: "\r\n"))
            }
            // One user may use three quarters of the memory.
            var peers: [RawPeer] = []
            for _ in 0..<3 {
                let (peer, status) = try await watch()
                #expect(status.hasPrefix("HTTP/1.1 200"))
                peers.append(peer)
            }
            #expect(try await watch().status.hasPrefix("HTTP/1.1 503"))
            peers[0].hangUp()
            while try await watch().status.hasPrefix("HTTP/1.1 503") {}
            withExtendedLifetime(peers) {}
        }
    }
}
