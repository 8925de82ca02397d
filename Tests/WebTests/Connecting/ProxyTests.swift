import Foundation
import NIOHTTP1
import OperationTypes
import Programs
import Servers
import Testing
import WebSyntax

@testable import Web

/// Requests through a real proxy, which receives only checked addresses.
@Suite(.enabled(if: Tinyproxy.isInstalled, "tinyproxy is not installed"))
struct ProxyTests {
    private func configuration(_ proxy: String, secret: String? = nil) -> OutgoingConfiguration {
        var configuration = loopbackConfiguration()
        configuration.proxy = ProxyServer(proxy)
        configuration.proxySecret = { () throws(KindFailure) in secret }
        return configuration
    }

    /// The proxy accepts addresses but no names, so the success shows that it received the address.
    @Test func nameIsConnectedAtItsJudgedAddress() async throws {
        try await Tinyproxy.with(user: "ana canary") { proxy in
            try await LoopbackServer.with { _ in
                .respond(200)
            } _: { server in
                try await withClient(configuration(proxy, secret: "ana:canary")) { client in
                    let response = try await get("http://localhost:\(server.port)/a?b", client)
                    #expect(response.status == 200 && "\(response.address)" == "127.0.0.1")
                    let request = try #require(server.requests.first)
                    #expect(request.target == "/a?b")
                    #expect(request.header("host") == "localhost:\(server.port)")
                    #expect(!request.headers.contains { $0.name.hasPrefix("proxy") || $0.value.contains("canary") })
                }
                // The connection goes through the proxy: it fails without the password.
                try await withClient(configuration(proxy)) { client in
                    let failure = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                    #expect(failure?.code == "proxy_failed" && failure?.status == 407)
                    #expect(failure?.isRetryable == false)
                }
                try await withClient(configuration(proxy, secret: "ana:wrong")) { client in
                    let failure = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                    #expect(failure?.code == "proxy_failed" && failure?.message.contains("wrong") == false)
                }
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test(.enabled(if: Nginx.isInstalled, "nginx is not installed"))
    func certificateIsCheckedThroughTheProxy() async throws {
        try await Nginx.with { nginx in
            try await Tinyproxy.with { proxy in
                var trusting = configuration(proxy)
                trusting.certificateFile = nginx.certificate
                try await withClient(trusting) { client in
                    let large = String(repeating: "x", count: 3 << 20)
                    let response = try await put(large, to: "https://localhost:\(nginx.tlsPort)/x", client)
                    #expect(response.status == 201)
                    let other = await failure { () async throws(KindFailure) in
                        try await get("https://127.0.0.1:\(nginx.tlsPort)/x", client)
                    }
                    #expect(other?.code == "tls_wrong_host")
                }
                try await withClient(configuration(proxy)) { client in
                    let failure = await failure { () async throws(KindFailure) in
                        try await get("https://localhost:\(nginx.tlsPort)/x", client)
                    }
                    #expect(failure?.code == "tls_self_signed")
                }
            }
        }
    }

    /// The proxy could reach the address, but the client does not even connect to the proxy.
    @Test func addressIsJudgedBeforeTheProxyIsAsked() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            // This server plays the proxy, so it would see a connection.
            var configuration = configuration(server.origin)
            configuration.policy.allow = []
            try await withClient(configuration) { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await get("http://127.0.0.1:\(server.port)/", client)
                }
                #expect(failure?.code == "address_refused")
                #expect(server.connections == 0)
            }
        }
    }

    @Test func proxyThatRefusesOrIsNotThereIsTold() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await Tinyproxy.with(connectPort: 1) { proxy in
                try await withClient(configuration(proxy)) { client in
                    let failure = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                    #expect(failure?.code == "proxy_failed")
                    #expect(failure?.message.contains("allows CONNECT") == true)
                    #expect(server.connections == 0)
                }
            }
            try await withClient(configuration("http://127.0.0.1:1")) { client in
                for _ in 0..<6 {
                    // A failure of the proxy does not count against the host.
                    let failure = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                    #expect(failure?.code == "proxy_failed" && failure?.isRetryable == true)
                    #expect(failure?.message.contains("http://127.0.0.1:1") == true)
                }
                #expect(server.connections == 0)
            }
        }
    }

    @Test(arguments: [
        "", "proxy", "https://proxy:1", "socks5://proxy:1", "http://user:word@proxy:1", "http://proxy/x",
        "http://proxy?x",
    ])
    func whatIsNoProxyIsRefused(text: String) { #expect(ProxyServer(text) == nil) }

    @Test(arguments: [
        ("http://Proxy.Example.org:3128/", "http://proxy.example.org:3128"), ("http://[::1]:1", "http://[::1]:1"),
        ("http://proxy", "http://proxy:80"),
    ])
    func proxyReadsBackAsWritten(text: String, written: String) { #expect(ProxyServer(text)?.description == written) }
}
