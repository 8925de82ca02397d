import Jobs
import OperationTypes
import Programs
import Samples
import Servers
import Synchronization
import Testing

@testable import Kinds
@testable import Web

/// Each failure of `unfurl` has its own code.
@Suite struct UnfurlFailureTests {
    private func code(
        of input: Unfurl.Input, _ configuration: OutgoingConfiguration = loopbackConfiguration()
    ) async throws -> KindFailure? {
        try await withClient(configuration) { client in
            await failure { () async throws(KindFailure) in
                try await Unfurl(client: client).run(input, context: OperationContext())
            }
        }
    }

    @Test(
        arguments: [
            (Unfurl.Input(), "invalid_input"), (Unfurl.Input(url: "http://h/", maxRedirects: 51), "invalid_input"),
            (Unfurl.Input(url: "http://h/", maxRedirects: -1), "invalid_input"),
            (Unfurl.Input(url: "http://h/", timeout: .zero), "invalid_input"),
            (Unfurl.Input(url: "ftp://h/"), "invalid_url"), (Unfurl.Input(url: "nonsense"), "invalid_url"),
            (Unfurl.Input(url: "http://10.0.0.1/"), "address_refused"),
            (Unfurl.Input(url: "http://1.1.1.1:25/"), "port_refused"),
            (Unfurl.Input(url: "http://127.0.0.1:1/"), "connect_failed"),
        ])
    func whatCannotBeAskedForFailsByItsCode(input: Unfurl.Input, code: String) async throws {
        let failure = try await self.code(of: input)
        #expect(failure?.code == code)
        #expect(failure?.isRetryable == (code == "connect_failed"))
    }

    @Test(
        arguments: [
            (.respond(404), "http_status", false), (.respond(500), "http_status", true),
            (.respond(305, [("location", "/x")]), "http_status", false), (.respond(401), "unauthorized", false),
            (.respond(302), "redirect_invalid", false),
            // Each quotation mark is sent as three bytes (`%22`), which makes the address too long.
            (.redirect(302, to: String(repeating: "\"", count: 6000)), "redirect_invalid", false),
            (.close, "connection_lost", true),
            (.raw(Array("no web server\r\n\r\n".utf8), closes: true), "protocol_error", false),
            (
                .raw(
                    Array("HTTP/1.1 200 OK\r\nx: \(String(repeating: "a", count: 66_000))\r\n\r\n".utf8), closes: true),
                "headers_too_large", false
            ),
            (.text("<title>Robot check</title>"), "blocked", false),
        ] as [(LoopbackServer.Answer, String, Bool)])
    func whatAServerAnswersFailsByItsCode(answer: LoopbackServer.Answer, code: String, isRetryable: Bool) async throws {
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            let failure = try await self.code(of: Unfurl.Input(url: server.origin))
            #expect(failure?.code == code)
            #expect(failure?.isRetryable == isRetryable)
        }
    }

    /// Neither 300 (a choice) nor 304 (no change) is a redirect.
    @Test(arguments: [300, 304])
    func choicesAreNotFollowed(status: Int) async throws {
        try await LoopbackServer.with { _ in
            .respond(status, [("location", "/other")])
        } _: { server in
            try await withClient { client in
                let output = try await Unfurl(client: client).result(Unfurl.Input(url: server.origin + "/a"))
                #expect(output.finalURL == server.origin + "/a")
                #expect(output.status == status)
            }
        }
    }

    @Test(.enabled(if: Nginx.isInstalled, "nginx is not installed"))
    func untrustedServerIsAFailure() async throws {
        try await Nginx.with { nginx in
            let failure = try await self.code(of: Unfurl.Input(url: "https://localhost:\(nginx.tlsPort)/"))
            #expect(failure?.code == "tls_self_signed")
        }
    }

    @Test func hopTakesNoLongerThanItsLimit() async throws {
        try await LoopbackServer.with {
            $0.path == "/" ? .redirect(302, to: "/slow") : .silence
        } _: { server in
            try await withClient { client in
                var configuration = UnfurlConfiguration()
                configuration.hopTimeout = .seconds(1)
                let unfurl = Unfurl(client: client, configuration: configuration)
                let failure = await failure { () async throws(KindFailure) in
                    try await unfurl.run(Unfurl.Input(url: server.origin), context: OperationContext())
                }
                #expect(failure?.code == "timeout")
                #expect(failure?.url == server.origin + "/slow")
                // `unfurl` tries HEAD first, then GET.
                #expect(server.requests.filter { $0.path == "/slow" }.map(\.method) == ["HEAD", "GET"])
            }
        }
    }

    /// The head is enough to follow the redirect; its body never ends.
    @Test(.timeLimit(.minutes(1))) func redirectIsFollowedBeforeItsBodyEnds() async throws {
        try await LoopbackServer.with { request in
            if request.path != "/" { return .text("<title>T</title>") }
            // Refusing HEAD makes `unfurl` send a GET, whose response has a body.
            if request.method == "HEAD" { return .respond(405) }
            let head = "HTTP/1.1 302 X\r\nlocation: /next\r\ncontent-length: 100\r\n\r\na drop"
            return .raw(Array(head.utf8), closes: false)
        } _: { server in
            try await withClient { client in
                var configuration = UnfurlConfiguration()
                configuration.hopTimeout = .seconds(600)
                let unfurl = Unfurl(client: client, configuration: configuration)
                let output = try await unfurl.result(Unfurl.Input(url: server.origin))
                #expect(output.finalURL == server.origin + "/next")
                #expect(server.requests.filter { $0.path == "/" }.count == 2)
            }
        }
    }

    /// The time limit of a hop excludes the wait for a free slot at the host.
    @Test func waitForATurnIsNotTheHop() async throws {
        try await LoopbackServer.with { request in
            request.path == "/slow" ? .silence : .text("<title>T</title>")
        } _: { server in
            var outgoing = loopbackConfiguration()
            outgoing.host.concurrent = 1
            outgoing.host.interval = .zero
            outgoing.host.limitsOwnHosts = true
            try await withClient(outgoing) { client in
                var configuration = UnfurlConfiguration()
                configuration.hopTimeout = .seconds(2)
                let unfurl = Unfurl(client: client, configuration: configuration)
                // Occupies the only slot for twice the hop's limit, once with HEAD and once with GET.
                let slow = Task {
                    await failure { () async throws(KindFailure) in
                        try await unfurl.run(Unfurl.Input(url: server.origin + "/slow"), context: OperationContext())
                    }
                }
                while server.requests.isEmpty { await Task.yield() }
                let others = try await withThrowingTaskGroup(of: Unfurl.Output.self) { group in
                    for number in 0..<4 {
                        group.addTask {
                            let origin = server.origin
                            return try await unfurl.result(Unfurl.Input(url: "\(origin)/\(number)"))
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(others.count == 4)
                #expect(others.allSatisfy { $0.hops.map(\.method) == ["GET"] && $0.title == "T" })
                #expect(server.requests.filter { $0.path != "/slow" }.count == 8)
                #expect(await slow.value?.message.contains("the request to this address took longer than") == true)
            }
        }
    }

    @Test(arguments: [nil, .milliseconds(300)] as [Duration?])
    func turnThatDoesNotComeIsTold(timeout: Duration?) async throws {
        try await LoopbackServer.with { _ in
            .silence
        } _: { server in
            var outgoing = loopbackConfiguration()
            outgoing.host.concurrent = 1
            outgoing.host.limitsOwnHosts = true
            try await withClient(outgoing) { client in
                var configuration = UnfurlConfiguration()
                configuration.timeout = timeout == nil ? .milliseconds(300) : .seconds(60)
                let unfurl = Unfurl(client: client, configuration: configuration)
                let first = Task {
                    await failure { () async throws(KindFailure) in
                        try await unfurl.run(
                            Unfurl.Input(url: server.origin + "/a", timeout: .seconds(60)), context: OperationContext())
                    }
                }
                while server.requests.isEmpty { await Task.yield() }
                let late = await failure { () async throws(KindFailure) in
                    try await unfurl.run(
                        Unfurl.Input(url: server.origin + "/b", timeout: timeout), context: OperationContext())
                }
                #expect(late?.code == "timeout")
                #expect(late?.isRetryable == true)
                #expect(
                    late?.message.contains("which other jobs keep busy") == true, "\(late?.message ?? "")")
                #expect(server.requests.map(\.path) == ["/a"])
                first.cancel()
                _ = await first.value
            }
        }
    }

    /// A caller with a longer limit does not join a resolution with a shorter one.
    @Test func longLimitIsNotShortenedByOthers() async throws {
        let asked = Mutex(Signal())
        let count = Mutex(0)
        try await LoopbackServer.with { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            asked.withLock(\.self).open()
            return number == 1 ? .silence : .text("<title>T</title>")
        } _: { server in
            try await withClient { client in
                var configuration = UnfurlConfiguration()
                configuration.timeout = .milliseconds(300)
                let unfurl = Unfurl(client: client, configuration: configuration)
                // Repeats because, on a busy machine, the limit may expire before anything is sent.
                var short: Task<KindFailure?, Never>
                repeat {
                    let heard = Signal()
                    asked.withLock { $0 = heard }
                    short = Task {
                        defer { heard.open() }
                        return await failure { () async throws(KindFailure) in
                            try await unfurl.run(Unfurl.Input(url: server.origin), context: OperationContext())
                        }
                    }
                    await heard.wait()
                } while count.withLock(\.self) == 0
                let output = try await unfurl.result(Unfurl.Input(url: server.origin, timeout: .seconds(60)))
                #expect(output.title == "T")
                #expect(await short.value?.code == "timeout")
            }
        }
    }

    /// The server delays one of the hops.
    @Test func everyHopTellsItsTime() async throws {
        let pause = Duration.milliseconds(40)
        try await LoopbackServer.with { request in
            switch request.path {
            case "/a": return .respond(302, [("location", "/b"), ("set-cookie", "way=1; Path=/")])
            case "/b" where request.header("cookie") == "way=1":
                let start = ContinuousClock.now
                while .now - start < pause {}
                return .respond(200, [("refresh", "0; url=/c"), ("content-type", "text/html")])
            case "/c": return .text("<link rel=canonical href=/canon>")
            default: return .respond(404)
            }
        } _: { server in
            try await withClient { client in
                let start = ContinuousClock.now
                let output = try await Unfurl(client: client).result(Unfurl.Input(url: server.origin + "/a"))
                let whole = (.now - start).milliseconds
                #expect(output.hops.map(\.via) == [.location, .refreshHeader, nil])
                #expect(output.hops.allSatisfy { $0.status != nil && $0.method != nil })
                let times = output.hops.map(\.durationMs)
                #expect(times[1] >= pause.milliseconds)
                #expect(times[0] + times[2] <= whole - pause.milliseconds)
                #expect(output.canonicalURL == server.origin + "/canon")
                #expect(output.finalURL == server.origin + "/c")
            }
        }
    }
}
