import NIOCore
import NIOHTTP1
import NIOSSL
import Servers
import Testing
import WebSyntax

@testable import Web

/// Each reason for a failed TLS connection has its own code and message. The servers are real.
@Suite struct CertificateTests {
    enum Case: CaseIterable {
        case expired, expiredAuthority, notYetValid, wrongHost, selfSigned, unknownAuthority, unknownAuthorityInChain
        case missingIntermediate, oldVersion, otherCipher, notTLS, cutOff

        var code: String {
            switch self {
            case .expired, .expiredAuthority: "tls_expired"
            case .notYetValid: "tls_not_yet_valid"
            case .wrongHost: "tls_wrong_host"
            case .selfSigned: "tls_self_signed"
            case .unknownAuthority, .unknownAuthorityInChain: "tls_unknown_authority"
            case .missingIntermediate: "tls_missing_intermediate"
            case .oldVersion, .otherCipher: "tls_no_common_protocol"
            case .notTLS: "tls_failed"
            case .cutOff: "connect_failed"
            }
        }

        /// A part of the expected message.
        var words: String {
            switch self {
            case .expired: "server expired on 2021-01-01"
            case .expiredAuthority: "middle expired on 2021-01-01"
            case .notYetValid: "not valid before 2098-01-01"
            case .wrongHost: "not valid for localhost"
            case .selfSigned: "network.authorities"
            case .unknownAuthority, .unknownAuthorityInChain: "signed the server's certificate, stranger"
            case .missingIntermediate: "certificate of middle"
            case .oldVersion, .otherCipher: "TLS 1.2 and 1.3"
            case .notTLS: "does not speak TLS"
            case .cutOff: "during the TLS handshake"
            }
        }

        func server(_ authority: TestAuthority) async throws -> NIOSSLContext? {
            let host = "DNS:localhost"
            switch self {
            case .expired:
                return try await authority.issue("server", host: host, valid: TestAuthority.longAgo).server()
            case .expiredAuthority:
                let middle = try await authority.issue("middle", host: nil, valid: TestAuthority.longAgo)
                return try await authority.issue("server", host: host, by: middle).server(chain: [middle])
            case .notYetValid:
                return try await authority.issue("server", host: host, valid: TestAuthority.farAhead).server()
            case .wrongHost: return try await authority.issue("server", host: "DNS:example.org").server()
            case .selfSigned:
                return try await TestAuthority.selfSigned("server", host: host, in: authority.folder).server()
            case .unknownAuthority, .unknownAuthorityInChain:
                let stranger = try await TestAuthority.selfSigned("stranger", in: authority.folder)
                let server = try await authority.issue("server", host: host, by: stranger)
                return try server.server(chain: self == .unknownAuthority ? [] : [stranger])
            case .missingIntermediate:
                let middle = try await authority.issue("middle", host: nil)
                return try await authority.issue("server", host: host, by: middle).server()
            case .oldVersion:
                return try await authority.issue("server", host: host).server {
                    $0.minimumTLSVersion = .tlsv11
                    $0.maximumTLSVersion = .tlsv11
                }
            case .otherCipher:
                return try await authority.issue("server", host: host).server {
                    $0.maximumTLSVersion = .tlsv12
                    // This cipher requires another type of key than the server's.
                    $0.cipherSuiteValues = [.TLS_RSA_WITH_AES_128_CBC_SHA]
                }
            case .notTLS, .cutOff: return nil
            }
        }
    }

    /// A configuration that trusts the test's authority if `trusts` is true.
    private func configuration(_ authority: TestAuthority, trusts: Bool) -> OutgoingConfiguration {
        var configuration = loopbackConfiguration()
        configuration.certificateFile = trusts ? authority.root.certificate : nil
        configuration.limits.connect = .seconds(10)
        return configuration
    }

    @Test(arguments: Case.allCases) func everyReasonHasItsCode(reason: Case) async throws {
        try await TestAuthority.with { authority in
            let tls = try await reason.server(authority)
            try await LoopbackServer.with(
                { _ in reason == .cutOff ? .close : .respond(200) }, isRaw: tls == nil, tls: tls
            ) { server in
                try await withClient(configuration(authority, trusts: reason != .unknownAuthority)) { client in
                    let failure = await failure { () async throws(KindFailure) in
                        try await put("canary", to: "https://localhost:\(server.port)/x", client)
                    }
                    #expect(failure?.code == reason.code, "\(failure?.message ?? "")")
                    #expect(failure?.message.contains(reason.words) == true, "\(failure?.message ?? "")")
                    #expect(failure?.isRetryable == (reason == .cutOff))
                    // The client sends nothing to an untrusted server.
                    #expect(server.requests.isEmpty)
                }
            }
        }
    }

    /// An attacker who forges a DNS response can have a certificate for the forged address only.
    @Test func certificateForTheAddressProvesNoName() async throws {
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "IP:127.0.0.1").server()
            try await LoopbackServer.with({ _ in .respond(200) }, tls: tls) { server in
                try await withClient(configuration(authority, trusts: true)) { client in
                    let failure = await failure { () async throws(KindFailure) in
                        try await get("https://localhost:\(server.port)/x", client)
                    }
                    #expect(failure?.code == "tls_wrong_host")
                    #expect(server.requests.isEmpty)
                    let response = try await put("x", to: "https://127.0.0.1:\(server.port)/x", client)
                    #expect(response.status == 200)
                }
            }
        }
    }

    /// The proxy and the server have different addresses: the proxy's certificate proves nothing, and the server's
    /// certificate is compared with the server's address.
    @Test(.enabled(if: Tinyproxy.isInstalled, "tinyproxy is not installed"), arguments: ["127.0.0.1", "127.0.0.2"])
    func addressOfTheProxyIsNotTheServers(named: String) async throws {
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "IP:\(named)").server()
            try await LoopbackServer.with({ _ in .respond(200) }, tls: tls) { server in
                try await Tinyproxy.with(at: "127.0.0.2") { proxy in
                    var configuration = configuration(authority, trusts: true)
                    configuration.proxy = ProxyServer(proxy)
                    try await withClient(configuration) { client in
                        let url = "https://127.0.0.1:\(server.port)/x"
                        if named == "127.0.0.1" {
                            let response = try await put("x", to: url, client)
                            #expect(response.status == 200)
                        } else {
                            for url in [url, "https://localhost:\(server.port)/x"] {
                                let failure = await failure { () async throws(KindFailure) in
                                    try await get(url, client)
                                }
                                #expect(failure?.code == "tls_wrong_host")
                            }
                            #expect(server.requests.isEmpty)
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("localhost", "localhost", true), ("LocalHost.", "localhost", true), ("*.example.org", "a.example.org", true),
        ("*.example.org", "xn--a-ecp.example.org", true), ("*.example.org", "example.org", false),
        ("*.example.org", "a.b.example.org", false), ("a.*.org", "a.b.org", false),
        ("a*.example.org", "ab.example.org", false),
        ("*", "localhost", false), ("", "localhost", false), ("localhost\u{0}", "localhost", false),
        ("example.org", "example.com", false), ("org", "example.org", false), ("*..", "a.", false),
    ])
    func nameOfACertificateMatchesItsHosts(name: String, host: String, matches: Bool) {
        #expect(ServerIdentity.matches(Array(name.utf8), host) == matches)
    }

    /// The first address refuses the connection, so its failure contains no TLS reason.
    @Test func reasonIsFoundAtTheAddressThatHasIt() async throws {
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "DNS:localhost", valid: TestAuthority.longAgo).server()
            try await LoopbackServer.with({ _ in .respond(200) }, tls: tls) { server in
                let client = OutgoingClient(configuration(authority, trusts: true)) { _ in
                    .success([.v6(0, 1), .v4(0x7F00_0001)])
                }
                let failure = await failure { () async throws(KindFailure) in
                    try await get("https://localhost:\(server.port)/x", client)
                }
                await client.shutdown()
                #expect(failure?.code == "tls_expired")
            }
        }
    }

    /// A TLS connection takes a while to close; a non-idempotent request sent meanwhile would be lost.
    @Test func connectionThatIsBeingClosedServesNoOtherRequest() async throws {
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "DNS:localhost").server()
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nsurplus"
            try await LoopbackServer.with({ _ in .raw(Array(answer.utf8), closes: false) }, tls: tls) { server in
                try await withClient(configuration(authority, trusts: true)) { client in
                    let url = try WebURL("https://localhost:\(server.port)/")
                    for _ in 0..<20 {
                        let request = OutgoingRequest(
                            method: .POST, url: url, body: .bytes(ByteBuffer(string: "x")), isGentle: false)
                        let status = try await client.exchange(request) { response throws(KindFailure) in
                            response.status
                        }
                        #expect(status == 200)
                    }
                    #expect(server.requests.count == 20)
                }
            }
        }
    }

    @Test func trustedServerIsReachedThroughItsChain() async throws {
        try await TestAuthority.with { authority in
            let middle = try await authority.issue("middle", host: nil)
            let tls = try await authority.issue("server", host: "DNS:localhost", by: middle).server(chain: [middle])
            try await LoopbackServer.with({ _ in .respond(200) }, tls: tls) { server in
                try await withClient(configuration(authority, trusts: true)) { client in
                    let response = try await put("x", to: "https://localhost:\(server.port)/x", client)
                    #expect(response.status == 200 && server.connections == 1)
                }
            }
        }
    }

    @Test(.enabled(if: Tinyproxy.isInstalled, "tinyproxy is not installed"))
    func reasonIsFoundThroughTheProxy() async throws {
        try await TestAuthority.with { authority in
            let tls = try await authority.issue("server", host: "DNS:localhost", valid: TestAuthority.longAgo).server()
            try await LoopbackServer.with({ _ in .respond(200) }, tls: tls) { server in
                try await Tinyproxy.with { proxy in
                    var configuration = configuration(authority, trusts: true)
                    configuration.proxy = ProxyServer(proxy)
                    try await withClient(configuration) { client in
                        let failure = await failure { () async throws(KindFailure) in
                            try await get("https://localhost:\(server.port)/x", client)
                        }
                        #expect(failure?.code == "tls_expired")
                    }
                }
            }
        }
    }

    /// Parsing invalid DER returns nil and never reads past the end.
    @Test func brokenCertificateIsRead() async throws {
        try await TestAuthority.with { authority in
            let good = try NIOSSLCertificate.fromPEMFile(authority.root.certificate)[0].toDERBytes()
            for count in 0..<good.count {
                var reader = DERReader(good[..<count])
                #expect(reader.next() == nil || count == good.count)
            }
            for place in good.indices {
                for byte in [0x00, 0x30, 0x80, 0x84, 0xFF] as [UInt8] {
                    var broken = good
                    broken[place] = byte
                    var reader = DERReader(broken[...])
                    while var inner = reader.enter() { while inner.next() != nil {} }
                    if let certificate = try? NIOSSLCertificate(bytes: broken, format: .der) {
                        _ = PeerCertificate(certificate)
                    }
                }
            }
        }
    }
}
