import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

func unfurl(
    _ url: String, configure: (inout Unfurl.Input) -> Void = { _ in }, client: OutgoingClient
) async throws(KindFailure) -> Unfurl.Output {
    var input = Unfurl.Input(url: url)
    configure(&input)
    return try await Unfurl(client: client).run(input, context: OperationContext())
}

@Suite struct UnfurlTests {
    @Test func everyHopIsRecordedWithStatusAndAddress() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/a": .redirect(301, to: "/b")
            case "/b": .redirect(302, to: "c?x=1")
            case "/c": .redirect(303, to: "/d")
            case "/d": .redirect(307, to: "/e")
            case "/e": .redirect(308, to: "/end?utm_source=x&id=7")
            default: .text("<title>T</title><link rel=canonical href='/canon'>")
            }
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a#part", client: client)
                #expect(output.finalURL == server.origin + "/end?utm_source=x&id=7#part")
                #expect(output.cleanedURL == server.origin + "/end?id=7#part")
                #expect(output.canonicalURL == server.origin + "/canon")
                #expect(output.title == "T")
                #expect(output.hops.map(\.status) == [301, 302, 303, 307, 308, 200])
                #expect(output.hops.allSatisfy { $0.address == "127.0.0.1" && $0.version == "1.1" })
                #expect(output.hops.map(\.via) == Array(repeating: .location, count: 5) + [nil])
                #expect(Unfurl.offer(output).url == output.finalURL)
            }
        }
    }

    @Test func twentyRedirectsAreFollowedAndNoMore() async throws {
        try await LoopbackServer.with { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < 21 ? .redirect(302, to: "/\(number + 1)") : .respond(200, [("content-type", "image/png")])
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/1", client: client)
                #expect(output.hops.count == 21)
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin + "/0", client: client)
                }
                #expect(failure?.code == "too_many_redirects")
            }
        }
    }

    /// The failure for a refused address must not reveal whether its port is open.
    @Test func refusedAddressTellsNothingOfItsPorts() async throws {
        try await LoopbackServer.with { _ in
            .respond(204)
        } _: { server in
            var configuration = OutgoingConfiguration()
            configuration.policy.ports = [80, 443, 1, UInt16(server.port)]
            try await withClient(configuration) { client in
                var failures: [KindFailure] = []
                for port in [server.port, 1] {
                    failures += [
                        await failure { () async throws(KindFailure) in
                            try await unfurl("http://127.0.0.1:\(port)/", client: client)
                        }
                    ].compactMap { $0 }
                }
                #expect(failures.map(\.code) == ["address_refused", "address_refused"])
                let messages = failures.map { $0.message.replacing(":\(server.port)", with: ":1") }
                #expect(messages[0] == messages[1])
                #expect(server.connections == 0)
            }
        }
    }

    @Test(
        arguments: [
            ([], "has no Location"), ([("location", "")], "empty Location"),
            ([("location", "/a"), ("location", "/b")], "several different Location headers"),
            ([("location", "http://[")], "cannot be followed"),
        ] as [([(String, String)], String)])
    func failureNamesWhatIsWrongWithALocation(headers: [(String, String)], words: String) async throws {
        try await LoopbackServer.with { _ in
            .respond(302, headers)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin, client: client)
                }
                #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
            }
        }
    }

    @Test func failureThatIsFinalServesManyWhoAsk() async throws {
        try await LoopbackServer.with { _ in
            .respond(404)
        } _: { server in
            try await withClient { client in
                let unfurl = Unfurl(client: client)
                let codes = await withTaskGroup(of: String?.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            await failure { () async throws(KindFailure) in
                                try await unfurl.run(Unfurl.Input(url: server.origin), context: OperationContext())
                            }?.code
                        }
                    }
                    return await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(codes == ["http_status"])
                #expect(server.requests.map(\.method) == ["HEAD", "GET"])
            }
        }
    }

    @Test func loopIsFound() async throws {
        try await LoopbackServer.with {
            .redirect(302, to: $0.path == "/a" ? "/b" : "/a")
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin + "/a", client: client)
                }
                #expect(failure?.code == "redirect_loop")
                #expect(failure?.isRetryable == false)
            }
        }
    }

    @Test func redirectToItselfWithANewCookieIsNoLoop() async throws {
        try await LoopbackServer.with { request in
            request.header("cookie") == "seen=1"
                ? .text("in") : .respond(302, [("location", request.path), ("set-cookie", "seen=1; Path=/")])
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", client: client)
                #expect(output.hops.map(\.status) == [302, 200])
            }
        }
    }

    /// The first page sets a cookie and refreshes to itself, as a waiting page does.
    @Test(arguments: [false, true])
    func refreshToItselfWithANewCookieIsFollowed(isHeader: Bool) async throws {
        try await LoopbackServer.with { request in
            if request.header("cookie") == "seen=1" { return .text("<title>In</title>") }
            if request.method == "HEAD" { return .respond(405) }
            let refresh = "0; url=\(request.path)"
            return .respond(
                200,
                [("content-type", "text/html"), ("set-cookie", "seen=1; Path=/")]
                    + (isHeader ? [("refresh", refresh)] : []),
                Array("<title>Wait</title><meta http-equiv=refresh content='\(isHeader ? "" : refresh)'>".utf8))
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", client: client)
                #expect(output.title == "In")
                #expect(output.finalURL == server.origin + "/a")
                #expect(output.hops.map(\.via) == [isHeader ? .refreshHeader : .metaRefresh, nil])
            }
        }
    }

    /// The page refreshes to itself forever, with or without a new cookie on each visit.
    @Test(arguments: [false, true])
    func pageThatRenewsItselfIsFinal(setsCookies: Bool) async throws {
        let visits = Mutex(0)
        try await LoopbackServer.with { request in
            let visit = visits.withLock { visits in
                visits += 1
                return visits
            }
            return .respond(
                200,
                [("content-type", "text/html")] + (setsCookies ? [("set-cookie", "visit=\(visit); Path=/")] : []),
                Array("<title>Ticker</title><meta http-equiv=refresh content='5;url=\(request.path)'>".utf8))
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", client: client)
                #expect(output.title == "Ticker")
                #expect(output.hops.count == (setsCookies ? 2 : 1))
            }
        }
    }

    /// The status, headers and host reveal a wall even if the body is not read.
    @Test func wallIsNotTakenForThePageWithoutReadingIt() async throws {
        try await LoopbackServer.with { request in
            request.path == "/waf"
                ? .respond(202, [("x-amzn-waf-action", "challenge"), ("content-type", "text/html")]) : .text("consent")
        } _: { server in
            let client = OutgoingClient(loopbackConfiguration()) { _ in
                .success([IPAddress("127.0.0.1")].compactMap { $0 })
            }
            for address in [server.origin + "/waf", "http://consent.youtube.com:\(server.port)/m?continue=x"] {
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(address, configure: { $0.readPage = false }, client: client)
                }
                #expect(failure?.code == "blocked")
            }
            await client.shutdown()
        }
    }

    /// The range of an input's `max_redirects` does not limit the configuration.
    @Test func configurationMayFollowMoreRedirectsThanAnInputMayAskFor() async throws {
        var configuration = UnfurlConfiguration()
        configuration.maxRedirects = 60
        try await LoopbackServer.with { request in
            request.path.utf8.count > 55 ? .text("in") : .redirect(302, to: request.path + "x")
        } _: { [configuration] server in
            try await withClient { client in
                let output = try await Unfurl(client: client, configuration: configuration).run(
                    Unfurl.Input(url: server.origin + "/"), context: OperationContext())
                #expect(output.status == 200 && output.hops.count == 56)
            }
        }
    }

    @Test func numberOfRedirectsIsLimited() async throws {
        try await LoopbackServer.with {
            .redirect(302, to: $0.path + "x")
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin + "/", configure: { $0.maxRedirects = 3 }, client: client)
                }
                #expect(failure?.code == "too_many_redirects")
                #expect(server.requests.count == 4)
            }
        }
    }

    @Test(
        arguments: [
            ([], "redirect_invalid"), ([("location", "")], "redirect_invalid"),
            ([("location", "/a"), ("location", "/b")], "redirect_invalid"),
            ([("location", "ftp://x/")], "redirect_invalid"),
            ([("location", "http://[::1")], "redirect_invalid"),
            ([("location", "http://10.0.0.1/")], "address_refused"),
            ([("location", "http://0x7f.1:1/")], "connect_failed"),
            ([("location", "http://[::ffff:127.0.0.1]/")], "address_refused"),
            ([("location", "http://169.254.169.254/latest/meta-data")], "address_refused"),
        ] as [([(String, String)], String)])
    func redirectIsJudgedLikeAFirstAddress(headers: [(String, String)], code: String) async throws {
        try await LoopbackServer.with { _ in
            .respond(302, headers)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin, client: client)
                }
                #expect(failure?.code == code)
            }
        }
    }

    @Test func metaRefreshIsFollowedOutsideNoscriptOnly() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/a":
                .text(
                    "<noscript><meta http-equiv=refresh content='0;url=/wrong'></noscript><template><meta http-equiv=refresh content='0;url=/wrong'></template><meta http-equiv=Refresh content=\"1; URL='/b'\">"
                )
            case "/b":
                .text(
                    "<meta http-equiv=refresh content='30;url=/late'><!-- <meta http-equiv=refresh content='0;url=/no'> -->"
                )
            default: .text("wrong")
            }
        } _: { server in
            try await withClient { client in
                let output = try await unfurl(server.origin + "/a", client: client)
                #expect(output.finalURL == server.origin + "/b")
                #expect(output.hops.first?.via == .metaRefresh)
            }
        }
    }

    @Test func retryAfterIsHandedOn() async throws {
        try await LoopbackServer.with { _ in
            .respond(503, [("retry-after", "17")])
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(server.origin, client: client)
                }
                #expect(failure?.code == "http_status")
                #expect(failure?.isRetryable == true)
                #expect(failure?.retryAfter == .seconds(17))
            }
        }
    }

    @Test func chainIsCancelledPromptly() async throws {
        let asked = Signal()
        try await LoopbackServer.with { _ in
            asked.open()
            return .silence
        } _: { server in
            try await withClient { client in
                let task = Task {
                    await failure { () async throws(KindFailure) in try await unfurl(server.origin, client: client) }
                }
                await asked.wait()
                task.cancel()
                // If the request continued, the failure would be the hop's timeout.
                #expect(await task.value?.code == "cancelled")
            }
        }
    }

    @Test func wholeChainHasOneDeadline() async throws {
        try await LoopbackServer.with { _ in
            .silence
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl(
                        server.origin, configure: { $0.timeout = HumanDuration(.milliseconds(50)) }, client: client)
                }
                #expect(failure?.code == "timeout")
                #expect(failure?.isRetryable == true)
            }
        }
    }
}
