import NIOHTTP1
import OperationTypes
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Web

@Suite struct OutgoingClientTests {
    /// Nothing listens at these addresses, so an attempt to connect would cause another failure.
    @Test(
        arguments: [
            "http://127.0.0.1/", "http://localhost/", "http://localhost./", "http://2130706433/", "http://0x7f.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://169.254.169.254/", "http://0/",
            "http://10.0.0.1:443/",
        ])
    func privateAddressIsRefusedInEverySpelling(url: String) async throws {
        try await withClient(OutgoingConfiguration()) { client in
            let failure = await failure { () async throws(KindFailure) in try await get(url, client) }
            #expect(failure?.code == "address_refused")
            #expect(failure?.isRetryable == false)
        }
    }

    /// The failure is the same whether the port is open or not.
    @Test func refusalDoesNotTellWhetherThePortIsOpen() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient(OutgoingConfiguration()) { client in
                let open = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                let shut = await failure { () async throws(KindFailure) in try await get("http://127.0.0.1:1/", client)
                }
                #expect(open?.code == shut?.code)
                #expect(server.connections == 0)
            }
        }
    }

    @Test func nameIsConnectedAtItsVettedAddressAndKeptAsHost() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                let response = try await get("http://localhost:\(server.port)/", client)
                #expect(response.address.description == "127.0.0.1")
                #expect(server.requests.first?.header("host") == "localhost:\(server.port)")
            }
        }
    }

    @Test func connectionIsUsedAgain() async throws {
        try await LoopbackServer.with { _ in
            .respond(200, [], [1, 2, 3])
        } _: { server in
            try await withClient { client in
                for _ in 0..<20 { _ = try await get(server.origin, client) }
                #expect(server.connections == 1)
            }
        }
    }

    /// Some servers send a body in response to HEAD, which arrives when the next request has been sent.
    @Test func bytesOfTheLastAnswerAreNotTakenForTheNext() async throws {
        let count = Mutex(0)
        try await LoopbackServer.with { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 2 ? .raw(Array("<p>late".utf8), closes: false) : .respond(200)
        } _: { server in
            try await withClient { client in
                for _ in 0..<2 {
                    let response = try await get(server.origin, client)
                    #expect(response.status == 200)
                }
                #expect(server.connections == 2)
                #expect(server.requests.count == 3)
            }
        }
    }

    @Test func serversBeyondTheLimitAreClosed() async throws {
        var configuration = loopbackConfiguration()
        configuration.maxPooledServers = 1
        configuration.policy.allow.append(AllowRule("127.0.0.0/8")!)
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient(configuration) { client in
                for _ in 0..<3 {
                    _ = try await get("http://127.0.0.1:\(server.port)/", client)
                    _ = try await get("http://localhost:\(server.port)/", client)
                }
                #expect(server.connections == 6)
            }
        }
    }

    enum BrokenAnswer: CaseIterable {
        case notHTTP, longHeader, manyHeaders, nothing, cutInTheHead

        var text: String {
            switch self {
            case .notHTTP: "nonsense\r\n\r\n"
            case .longHeader: "HTTP/1.1 200 OK\r\nx: \(String(repeating: "a", count: 70_000))\r\n\r\n"
            case .manyHeaders: "HTTP/1.1 200 OK\r\n" + String(repeating: "x: y\r\n", count: 12_000) + "\r\n"
            case .nothing: ""
            case .cutInTheHead: "HTTP/1.1 200 OK\r\ncontent-le"
            }
        }

        var code: String {
            switch self {
            case .notHTTP: "protocol_error"
            case .longHeader, .manyHeaders: "headers_too_large"
            case .nothing, .cutInTheHead: "connection_lost"
            }
        }
    }

    @Test(arguments: BrokenAnswer.allCases)
    func brokenAnswerIsAFailureOfItsOwn(answer: BrokenAnswer) async throws {
        try await LoopbackServer.with { _ in
            .raw(Array(answer.text.utf8), closes: true)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in try await get(server.origin, client) }
                #expect(failure?.code == answer.code)
            }
        }
    }

    @Test func nothingListeningIsConnectFailed() async throws {
        try await withClient { client in
            let failure = await failure { () async throws(KindFailure) in try await get("http://127.0.0.1:1/", client) }
            #expect(failure?.code == "connect_failed")
            #expect(failure?.isRetryable == true)
        }
    }

    @Test func nameThatDoesNotExistIsFinal() async throws {
        try await withClient { client in
            let failure = await failure { () async throws(KindFailure) in try await get("http://name.invalid/", client)
            }
            #expect(failure?.code == "name_not_found" || failure?.code == "lookup_failed")
        }
    }

    @Test(
        arguments: [
            ("120", nil, 120), ("0", nil, 0), ("99999999999999999999", nil, 3600),
            ("Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 60),
            ("Sun Nov  6 08:50:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT", 60),
        ] as [(String, String?, Int)])
    func retryAfterIsReadInBothForms(text: String, date: String?, seconds: Int) {
        let wait = RetryAfter.parse(text, serverDate: date)
        #expect(wait.map { min($0, .seconds(3600)) } == .seconds(seconds))
    }

    @Test(arguments: ["", "soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 2094 08:49:37 GMT"])
    func retryAfterThatMakesNoSenseIsNone(text: String) { #expect(RetryAfter.parse(text, serverDate: nil) == nil) }
}
