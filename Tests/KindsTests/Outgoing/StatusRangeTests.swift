import NIOCore
import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// An invalid status ends only the exchange, with a failure.
@Suite struct StatusRangeTests {
    enum Route: CaseIterable {
        case plain, tls, proxied
    }

    enum Kind: CaseIterable {
        case upload, largeUpload, unfurl, enrich

        func run(_ url: String, _ client: OutgoingClient) async throws(KindFailure) {
            let context = OperationContext()
            switch self {
            case .upload: _ = try await Upload(client: client).run(.init(to: url, body: "x"), context: context)
            case .largeUpload:
                let body = String(repeating: "x", count: 3 << 20)
                _ = try await Upload(client: client).run(.init(to: url, body: body), context: context)
            case .unfurl: _ = try await Unfurl(client: client).run(.init(url: url), context: context)
            case .enrich: _ = try await Enrich(client: client).run(.init(url: url), context: context)
            }
        }
    }

    private static func head(_ status: String) -> [UInt8] {
        Array("HTTP/1.1 \(status) X\r\ncontent-length: 2\r\n\r\nok".utf8)
    }

    /// Runs `body` with the origin of a server that answers every request with `handler`.
    private func withServer(
        _ route: Route, _ handler: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Answer,
        _ body: (_ origin: String, LoopbackServer, OutgoingClient) async throws -> Void
    ) async throws {
        let answer: LoopbackServer.Handler = {
            $0.method == "CONNECT" ? .raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8), closes: false) : handler($0)
        }
        switch route {
        case .plain, .proxied:
            try await LoopbackServer.with(answer, greeting: answer) { server in
                var configuration = loopbackConfiguration()
                if route == .proxied { configuration.proxy = ProxyServer(server.origin) }
                try await withClient(configuration) { try await body(server.origin, server, $0) }
            }
        case .tls:
            try await TestAuthority.with { authority in
                let tls = try await authority.issue("server", host: "DNS:localhost").server()
                try await LoopbackServer.with(answer, greeting: answer, tls: tls) { server in
                    var configuration = loopbackConfiguration()
                    configuration.certificateFile = authority.root.certificate
                    try await withClient(configuration) {
                        try await body("https://localhost:\(server.port)", server, $0)
                    }
                }
            }
        }
    }

    @Test(arguments: Route.allCases, Kind.allCases)
    func statusThatHTTPDoesNotHaveIsAFailure(route: Route, kind: Kind) async throws {
        // The path names the status to send.
        try await withServer(
            route,
            { .raw(Self.head(String($0.path.dropFirst())), closes: false) }
        ) { origin, server, client in
            for status in ["000", "001", "042", "098", "099", "101"] {
                let failure = await failure { () async throws(KindFailure) in
                    try await kind.run("\(origin)/\(status)", client)
                }
                #expect(failure?.code == "protocol_error" && failure?.isRetryable == false)
                #expect(failure?.status == Int(status) && failure?.message.contains(status) == true)
            }
        }
    }

    /// The first request has put the connection into the pool.
    @Test(arguments: Route.allCases)
    func statusOnAReusedConnectionIsAFailure(route: Route) async throws {
        let count = Counter()
        try await withServer(
            route,
            { _ in .raw(Self.head(count.next().isMultiple(of: 2) ? "099" : "200"), closes: false) }
        ) { origin, server, client in
            for _ in 0..<4 {
                try await Kind.upload.run("\(origin)/", client)
                let failure = await failure { () async throws(KindFailure) in
                    try await Kind.upload.run("\(origin)/", client)
                }
                #expect(failure?.code == "protocol_error")
            }
            #expect(server.connections == 4)
        }
    }

    /// Well-known sites send such statuses; browsers and curl treat them as responses without success.
    @Test(arguments: [600, 999]) func statusAboveTheStandardIsAnAnswer(status: Int) async throws {
        try await withServer(.plain, { _ in .respond(status) }) { origin, _, client in
            let failure = await failure { () async throws(KindFailure) in try await Kind.upload.run(origin, client) }
            #expect(failure?.code == "http_status" && failure?.status == status)
        }
    }

    @Test(arguments: ["000", "099", "101", "199", "600", "nonsense"])
    func proxyThatAnswersSoIsAFailure(status: String) async throws {
        try await LoopbackServer.with { _ in
            .raw(Self.head(status) + Self.head("200"), closes: true)
        } _: { server in
            var configuration = loopbackConfiguration()
            configuration.proxy = ProxyServer(server.origin)
            try await withClient(configuration) { client in
                for kind in Kind.allCases {
                    let failure = await failure { () async throws(KindFailure) in
                        try await kind.run("http://127.0.0.1:1/", client)
                    }
                    #expect(["proxy_failed", "protocol_error", "connection_lost"].contains(failure?.code))
                }
            }
        }
    }
}
