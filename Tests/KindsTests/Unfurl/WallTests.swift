import OperationTypes
import Pages
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// A wall is not mistaken for the page behind it, and a page about walls is not mistaken for a wall.
@Suite struct WallTests {
    private static let text = String(repeating: "<p>A page that has a lot to say about its subject.</p>", count: 10)
    private static let challenge =
        "<script src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=1'></script>"
    private static let measuring = "<script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>"

    @Test(
        arguments: [
            (.respond(403, [("cf-mitigated", "challenge")])), (.text("<title>Just a moment...</title>", status: 503)),
            (.text("<title>Page not found | Shop</title>")), (.respond(999)),
            (.respond(202, [("x-amzn-waf-action", "challenge"), ("content-type", "text/html")])),
            .text("<title>Access denied - Shop</title>" + text, status: 403),
        ] as [LoopbackServer.Answer])
    func wallIsNotTakenForThePage(answer: LoopbackServer.Answer) async throws {
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                #expect(await code(of: Unfurl(client: client), Unfurl.Input(url: server.origin)) == "blocked")
                #expect(await code(of: Enrich(client: client), Enrich.Input(url: server.origin)) == "blocked")
            }
        }
    }

    @Test(
        arguments: [
            "<title>CAPTCHA - Wikipedia</title>" + text, "<title>404 - Wikipedia</title>" + text,
            "<title>Access denied | A novel</title>" + text, "<title>Security check - Wikipedia</title>" + text,
            "<head><title>CAPTCHA - Wikipedia</title><link rel=canonical href=/captcha></head><body><p>Short.</p>",
            "<title>A page</title>" + text + measuring, "<title>A page</title>" + measuring,
            "<head><title>A page</title></head><body><article>" + text + challenge + "</article>",
            // The page is cut at the limit, so a missing article in the part that was read proves nothing.
            "<head><title>CAPTCHA | Notes</title></head><body><!--" + String(repeating: "x", count: 300_000) + "-->"
                + text,
        ])
    func pageIsNotTakenForAWall(page: String) async throws {
        try await LoopbackServer.with { _ in
            .text(page)
        } _: { server in
            try await withClient { client in
                let output = try await Unfurl(client: client).result(Unfurl.Input(url: server.origin))
                #expect(output.title != nil)
                #expect(try await Enrich(client: client).result(Enrich.Input(url: server.origin)).title != nil)
            }
        }
    }

    /// The body can reveal a wall even if the head does not.
    @Test(
        arguments: [
            "<head><title>Nur einen Moment…</title></head><body><h1>h</h1>" + challenge,
            "<head><title>しばらくお待ちください...</title></head><body class=no-js><script>window._cf_chl_opt={}</script>",
            "<head><title>CAPTCHA</title></head><body><p>Type what you see.</p>",
            "<title>404</title><p>Nothing here.</p>",
            "<head><meta name=robots content=noindex><title>404 - Shop</title><meta property=og:site_name content=S>"
                + "</head><body>" + text,
            "<title>Before you continue</title><body><p>We use cookies.</p><form action=/save>"
                + "<input type=hidden name=continue value=https://example.org/a><button>Accept all</button></form>",
            "<title>Bevor Sie fortfahren</title><form action=/consent/save><button>Ja</button></form>",
        ])
    func pageWithNothingOfItsOwnIsAWall(page: String) async throws {
        try await LoopbackServer.with { _ in
            .text(page)
        } _: { server in
            try await withClient { client in
                #expect(await code(of: Unfurl(client: client), Unfurl.Input(url: server.origin)) == "blocked")
            }
        }
    }

    @Test(
        arguments: [
            ("/gate?continue=https%3A%2F%2Fexample.org%2F", "Your privacy", true),
            ("/cookie-consent?next=/a", "Site", true), ("/gate?next=2", "Your privacy", false),
            ("/a?next=/a", "Site", false),
        ])
    func consentIsToldByWhereItLeadsBack(target: String, title: String, isWall: Bool) async throws {
        try await LoopbackServer.with { _ in
            .text("<title>\(title)</title><p>We and our partners.</p><button>Accept</button>")
        } _: { server in
            try await withClient { client in
                let code = await code(of: Unfurl(client: client), Unfurl.Input(url: server.origin + target))
                #expect(code == (isWall ? "blocked" : nil))
            }
        }
    }

    /// No golden document is mistaken for a wall, however little text it has.
    @Test func noSampleIsTakenForAWall() async throws {
        let samples = GoldenDocument.all.filter { $0.status == 200 && !$0.name.hasPrefix("wall-") }
        #expect(samples.count > 100)
        try await LoopbackServer.with { request in
            let sample = samples[Int(request.path.dropFirst()) ?? 0]
            return .respond(200, sample.headers, sample.document)
        } _: { server in
            try await withClient { client in
                let unfurl = Unfurl(client: client)
                for (number, sample) in samples.enumerated() {
                    let code = await code(of: unfurl, Unfurl.Input(url: server.origin + "/\(number)"))
                    #expect(code != "blocked", "\(sample.name)")
                }
            }
        }
    }

    private func code<K: TypedOperation>(of kind: K, _ input: K.Input) async -> String? {
        do {
            _ = try await kind.result(input)
            return nil
        } catch {
            return (error as? KindFailure)?.code ?? "\(error)"
        }
    }
}
