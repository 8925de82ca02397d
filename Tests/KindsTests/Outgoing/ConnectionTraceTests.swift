import Jobs
import NIOHTTP1
import OperationTypes
import Programs
import Samples
import Servers
import Testing
import Web
import WebSyntax

@testable import Kinds

/// The record of an attempt's connections.
@Suite struct ConnectionTraceTests {
    private let log = ConnectionLog { Timestamp(milliseconds: 0) }

    private func recording<T>(_ work: () async throws -> T) async throws -> T {
        try await ConnectionLog.$current.withValue(log) { try await work() }
    }

    private func get(_ url: String, _ client: OutgoingClient) async throws(KindFailure) {
        let url = try WebURL(input: url, field: "url")
        try await client.exchange(OutgoingRequest(method: .GET, url: url)) { response throws(KindFailure) in
            _ = try await response.readDecoded(upTo: 1000, received: 1000)
        }
    }

    @Test func everyHopOfALinkIsThereAndNoQuery() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/secret-a": .redirect(301, to: "/secret-b?X-Amz-Signature=canary")
            case "/secret-b": .redirect(302, to: "http://user:canary@\(request.header("host") ?? "")/secret-c")
            default: .text("<title>T</title>")
            }
        } _: { server in
            try await withClient { client in
                let input = Unfurl.Input(url: server.origin + "/secret-a?token=canary#canary", readPage: true)
                _ = try await recording { try await Unfurl(client: client).result(input) }
            }
            let text = log.json?.string ?? ""
            #expect(!text.contains("canary") && !text.contains("secret"))
            #expect(log.records.map(\.status) == [301, 302, 200, 200])
            #expect(log.records.map(\.method) == ["HEAD", "HEAD", "HEAD", "GET"])
            #expect(log.records.allSatisfy { $0.origin == server.origin && $0.address == "127.0.0.1:\(server.port)" })
        }
    }

    @Test func anEntryTellsWhatWasMeasured() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/a": .redirect(301, to: "/b")
            case "/b": .redirect(302, to: "/c")
            default: .text("<title>T</title>")
            }
        } _: { server in
            try await withClient { client in
                let input = Unfurl.Input(url: "http://localhost:\(server.port)/a", readPage: false)
                _ = try await recording { try await Unfurl(client: client).result(input) }
                // The second call is answered from the cache and sends nothing.
                let again = ConnectionLog(now: log.now)
                _ = try await ConnectionLog.$current.withValue(again) { [unfurl = Unfurl(client: client)] in
                    _ = try await unfurl.result(input)
                    return try await unfurl.result(input)
                }
                #expect(again.records.count == 3)
            }
            let records = log.records
            #expect(records.map(\.status) == [301, 302, 200])
            #expect(records.map(\.number) == [1, 2, 3])
            #expect(records.map(\.isReused) == [false, true, true])
            for record in records {
                #expect(record.origin == "http://localhost:\(server.port)")
                #expect(record.address == "127.0.0.1:\(server.port)")
                #expect(record.protocolName == "HTTP/1.1" && record.tls == nil && record.proxy == nil)
                #expect(record.error == nil)
                let connect = try #require(record.connectMs)
                let first = try #require(record.firstByteMs)
                #expect(0 <= connect && connect <= first && first <= record.totalMs ?? -1)
            }
        }
    }

    @Test func aSignedUploadKeepsItsBytesAndNotItsSignature() async throws {
        try await LoopbackServer.with { _ in
            .respond(201, [], Array("stored".utf8))
        } _: { server in
            try await withClient { client in
                let input = Upload.Input(to: server.origin + "/b/key?X-Amz-Signature=canary", body: "hello")
                _ = try await recording { try await Upload(client: client).result(input) }
            }
            let record = try #require(log.records.last)
            #expect(record.method == "PUT" && record.origin == server.origin && record.status == 201)
            #expect(record.sentBytes == 5 && record.receivedBytes == 6)
            #expect(log.json?.string.contains("canary") == false)
        }
    }

    @Test func whatFailsIsThereWithItsCode() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/close": .close
            case "/cut": .raw(Array("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".utf8), closes: true)
            default: .silence
            }
        } _: { server in
            try await withClient { client in
                for path in ["/close", "/cut"] {
                    await #expect(throws: KindFailure.self) {
                        try await recording { try await get(server.origin + path, client) }
                    }
                }
                await #expect(throws: KindFailure.self) {
                    try await recording { try await get("http://127.0.0.1:1/", client) }
                }
                // No connection was attempted, so nothing is recorded.
                await #expect(throws: KindFailure.self) {
                    try await recording { try await get("http://10.0.0.1:80/", client) }
                }
                let waiting = Task { try await recording { try await get(server.origin + "/silence", client) } }
                while !server.requests.contains(where: { $0.path == "/silence" }) { await Task.yield() }
                #expect(log.records.last?.error == nil && log.records.last?.status == nil)
                waiting.cancel()
                await #expect(throws: KindFailure.self) { try await waiting.value }
            }
            // The client repeats an idempotent request once.
            #expect(
                log.records.map(\.error) == [
                    "connection_lost", "connection_lost", "connection_lost", "connect_failed", "cancelled",
                ])
            #expect(log.records.map(\.status) == [nil, nil, 200, nil, nil])
            #expect(log.records[2].receivedBytes == 3)
            #expect(log.records[3].address == "127.0.0.1:1" && log.records[3].connectMs == nil)
        }
    }

    @Test func limitOfOursIsNoCancellation() async throws {
        try await LoopbackServer.with { _ in
            .silence
        } _: { server in
            let (log, url) = (log, server.origin)
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    let late = KindFailure.timeout("the page", after: .zero, at: try WebURL(input: url, field: "url"))
                    // The inner limit is shorter and expires first.
                    return try await withDeadline(.seconds(600), failure: .cancelled) { () async throws(KindFailure) in
                        try await withDeadline(.milliseconds(200), failure: late) { () async throws(KindFailure) in
                            try await ConnectionLog.$current.withValue(log) { () async -> Result<Void, KindFailure> in
                                do throws(KindFailure) { return .success(try await get(url, client)) } catch {
                                    return .failure(error)
                                }
                            }.get()
                        }
                    }
                }
                #expect(failure?.code == "timeout")
            }
            #expect(log.records.map(\.error) == ["timeout"])
        }
    }

    @Test func bodyThatIsRefusedIsNoWholeAnswer() async throws {
        try await LoopbackServer.with { _ in
            .text("a body")
        } _: { server in
            try await withClient { client in
                let url = try WebURL(input: server.origin, field: "url")
                _ = try await recording {
                    await failure { () async throws(KindFailure) in
                        try await client.exchange(OutgoingRequest(method: .GET, url: url)) {
                            response throws(KindFailure) in
                            try await response.forEachPiece { _ throws(KindFailure) in
                                throw .headersTooLarge(url, limit: 0)
                            }
                        }
                    }
                }
            }
            #expect(log.records.map(\.error) == ["headers_too_large"])
            #expect(log.records.map(\.status) == [200])
        }
    }

    @Test func whoWaitsForTheSameLinkHasTheSameRecord() async throws {
        let mayAnswer = Signal()
        let hasBegun = Signal()
        let resolutions = Resolutions(UnfurlConfiguration())
        let key = Resolutions.Key(url: "http://h/", limit: 20, readsPage: true, timeout: .seconds(60))
        let output = Unfurl.Output(
            finalURL: "http://h/", status: 200, cleanedURL: "http://h/", isDowngraded: false, hops: [])
        let logs = (0..<2).map { _ in ConnectionLog(now: log.now) }
        let tasks = logs.map { log in
            Task {
                try await ConnectionLog.$current.withValue(log) {
                    try await resolutions.answer(key) { _ in
                        _ = ConnectionLog.current?.begin(method: "HEAD", origin: "http://h", address: "192.0.2.1:80")
                        hasBegun.open()
                        await mayAnswer.uncancellableWait()
                        return .success(output)
                    }
                }
            }
        }
        while resolutions.waiting(for: key) < 2 { await Task.yield() }
        await hasBegun.wait()
        // The cancelled caller keeps the records made so far.
        tasks[0].cancel()
        _ = await tasks[0].result
        mayAnswer.open()
        _ = try await tasks[1].value
        #expect(logs.map(\.records.count) == [1, 1])
    }

    @Test(.enabled(if: Nginx.isInstalled, "nginx is not installed"))
    func versionOfTLSIsThere() async throws {
        try await Nginx.with { nginx in
            var configuration = loopbackConfiguration()
            configuration.certificateFile = nginx.certificate
            try await withClient(configuration) { client in
                try await recording { try await get("https://localhost:\(nginx.tlsPort)/x", client) }
            }
            #expect(log.records.map(\.tls) == ["1.3"])
            #expect(log.records.map(\.origin) == ["https://localhost:\(nginx.tlsPort)"])
        }
    }

    @Test(.enabled(if: Tinyproxy.isInstalled, "tinyproxy is not installed"))
    func proxyIsThereWithoutItsPassword() async throws {
        try await Tinyproxy.with(user: "ana canary") { proxy in
            try await LoopbackServer.with { _ in
                .respond(200)
            } _: { server in
                var configuration = loopbackConfiguration()
                configuration.proxy = ProxyServer(proxy)
                configuration.proxySecret = { () throws(KindFailure) in "ana:canary" }
                try await withClient(configuration) { client in
                    try await recording { try await get("http://localhost:\(server.port)/a?b", client) }
                }
                let record = try #require(log.records.first)
                #expect(record.proxy == proxy && record.address == "127.0.0.1:\(server.port)")
                #expect(record.status == 200)
                #expect(log.json?.string.contains("canary") == false)
            }
        }
    }
}
