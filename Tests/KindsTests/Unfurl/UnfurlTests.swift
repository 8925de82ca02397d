import Jobs
import OperationTypes
import Testing

@testable import Kinds

@Suite struct UnfurlTests {
    private func unfurl(
        _ url: String, configure: (inout Unfurl.Input) -> Void = { _ in }, client: OutgoingClient
    ) async throws(KindFailure) -> Unfurl.Output {
        var input = Unfurl.Input(url: url)
        configure(&input)
        return try await Unfurl(client: client).run(input, context: OperationContext())
    }

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
                #expect(output.hops.allSatisfy { $0.address == "127.0.0.1" })
                #expect(output.hops.map(\.via) == Array(repeating: .location, count: 5) + [nil])
                #expect(Unfurl.offer(output).url == output.finalURL)
            }
        }
    }

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
                    "<noscript><meta http-equiv=refresh content='0;url=/wrong'></noscript><meta http-equiv=Refresh content=\"1; URL='/b'\">"
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
            asked.send()
            return .silence
        } _: { server in
            try await withClient { client in
                let task = Task {
                    await failure { () async throws(KindFailure) in try await unfurl(server.origin, client: client) }
                }
                await asked.wait()
                task.cancel()
                // Were the network work not stopped, this would be the timeout of the hop.
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
                    try await unfurl(server.origin, configure: { $0.timeoutMs = 50 }, client: client)
                }
                #expect(failure?.code == "timeout")
                #expect(failure?.isRetryable == true)
            }
        }
    }
}
