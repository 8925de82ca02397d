import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

/// The response to HEAD is enough only if it proves that GET would add nothing.
@Suite struct UnfurlHeadTests {
    @Test(arguments: [403, 404, 405, 501, 500])
    func headThatIsRefusedIsFollowedByGet(status: Int) async throws {
        try await LoopbackServer.with { request in
            if request.method == "HEAD" { return .respond(status) }
            return request.path == "/a" ? .redirect(302, to: "/b") : .text("<title>B</title>")
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", client: client)
                #expect(output.finalURL == server.origin + "/b")
                #expect(output.hops.map(\.method) == ["GET", "GET"])
            }
        }
    }

    @Test func headThatIsDroppedIsFollowedByGet() async throws {
        try await LoopbackServer.with {
            $0.method == "HEAD" ? .close : .text("<title>B</title>")
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/", client: client)
                #expect(output.title == "B")
            }
        }
    }

    /// A server may answer GET differently if its success response to HEAD has no content type.
    @Test func headThatProvesNothingIsFollowedByGet() async throws {
        try await LoopbackServer.with {
            $0.method == "HEAD" ? .respond(200) : $0.path == "/a" ? .redirect(302, to: "/b") : .respond(204)
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", configure: { $0.readPage = false }, client: client)
                #expect(output.finalURL == server.origin + "/b")
                #expect(output.status == 204)
            }
        }
    }

    @Test func headThatNamesItsTypeIsEnoughWithoutAPage() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>T</title>")
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin, configure: { $0.readPage = false }, client: client)
                #expect(output.title == nil)
                #expect(server.requests.map(\.method) == ["HEAD"])
            }
        }
    }

    /// The server never sends the rest of the page.
    @Test func pageIsReadToTheEndOfItsHeadOnly() async throws {
        let head = Array("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9999999\r\n\r\n".utf8)
        try await LoopbackServer.with { request in
            request.method == "HEAD"
                ? .respond(405) : .raw(head + Array("<head><title>T</title></head><body>".utf8), closes: false)
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin, client: client)
                #expect(output.title == "T")
            }
        }
    }

    /// A challenge in response to HEAD does not imply that GET is challenged, too.
    @Test func headThatMeetsAWallIsFollowedByGet() async throws {
        try await LoopbackServer.with { request in
            request.method == "HEAD"
                ? .respond(202, [("x-amzn-waf-action", "challenge"), ("content-type", "text/html")]) : .text("in")
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin, configure: { $0.readPage = false }, client: client)
                #expect(output.hops.map(\.method) == ["GET"])
                #expect(output.status == 200)
            }
        }
    }
}
