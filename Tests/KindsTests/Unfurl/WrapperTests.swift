import OperationTypes
import Servers
import Testing
import Web
import WebSyntax

@testable import Kinds

@Suite struct WrapperTests {
    @Test(
        arguments: [
            ("https://www.google.com/url?sa=t&url=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc", "https://example.org/a?b=c"),
            ("https://l.facebook.com/l.php?u=https%3A%2F%2Fexample.org%2F&h=AT0", "https://example.org/"),
            (
                "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fexample.org%2Fx&data=05",
                "https://example.org/x"
            ),
            ("https://www.youtube.com/redirect?event=d&q=https%3A%2F%2Fexample.org", "https://example.org/"),
            ("https://href.li/?https://example.org/p", "https://example.org/p"),
            (
                "https://urldefense.proofpoint.com/v2/url?u=https-3A__example.org_a-2Db&d=x", "https://example.org/a-b"
            ),
            ("https://urldefense.com/v3/__https://example.org/a?b=1__;!!abc!def$", "https://example.org/a?b=1"),
            ("https://urldefense.com/v3/__https://example.org/a*b__;Iw!!abc", "https://example.org/a#b"),
            ("https://urldefense.com/v3/__https://example.org/a**Bb*c__;eHl6IQ!!abc!d$", "https://example.org/axyzb!c"),
            // Replacements and runs are counted in characters, not bytes, and `%` is itself a character.
            (
                "https://urldefense.com/v3/__https://example.org/*b**A__;w6nDqcOp!!abc",
                "https://example.org/%C3%A9b%C3%A9%C3%A9"
            ),
            (
                "https://urldefense.com/v3/__https://example.org/19*3ax?a=*22__;JSU!!abc",
                "https://example.org/19%3ax?a=%22"
            ),
            ("https://urldefense.com/v3/__https://example.org/a**__;fn4!!abc", "https://example.org/a~~"),
            ("https://urldefense.com/v3/__https:/example.org/a__;!!abc", "https://example.org/a"),
            ("https://www.google.com/url?q=search+words&url=https%3A%2F%2Fexample.org%2Fa", "https://example.org/a"),
            ("https://steamcommunity.com/linkfilter/?u=x&url=https://example.org/a", "https://example.org/a"),
            ("https://cdn.ampproject.org/c/s/example.org/story?x=1", "https://example.org/story?x=1"),
            ("https://cdn.ampproject.org/v/example.org/story", "http://example.org/story"),
            ("https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9leGFtcGxlLm9yZy8&ntb=1", "https://example.org/"),
            (
                "https://r.search.yahoo.com/_ylt=A;_ylu=Y/RV=2/RE=1/RO=10/RU=https%3a%2f%2fexample.org%2fx/RK=2/RS=z",
                "https://example.org/x"
            ),
            ("https://www.google.com/amp/s/example.org/story", "https://example.org/story"),
            ("https://example-org.cdn.ampproject.org/c/s/example.org/story?x=1", "https://example.org/story?x=1"),
            ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2F#f", "https://example.org/#f"),
        ])
    func targetIsTakenOutOfTheAddress(wrapped: String, target: String) throws {
        #expect(try Wrapper.target(of: WebURL(parsing: wrapped))?.description == target)
    }

    @Test(
        arguments: [
            "https://example.org/url?q=https://x.example/", "https://www.google.com/url?q=javascript:alert(1)",
            "https://www.google.com/url?q=", "https://www.google.com/search?q=https://x.example/", "https://href.li/",
            "https://evil-google.com/url?q=https://x.example/", "https://urldefense.com/v3/__",
            "https://urldefense.com/v3/__https://example.org/a*b__;!!abc",
            "https://urldefense.com/v3/__https://example.org/a**Cb__;eHl6!!abc",
            "https://urldefense.com/v3/__https://example.org/a**$b__;eHl6!!abc",
            "https://urldefense.com/v3/__https://example.org/a*b__;_w!!abc", "https://cdn.ampproject.org/v0.js",
            "https://cdn.ampproject.org/", "https://www.google.com/url?q=search+words&url=more",
            "https://www.bing.com/ck/a?u=a1!!!", "https://google.com.evil.example/url?q=https://x.example/",
        ])
    func whatIsNoWrapperIsLeftAlone(text: String) throws {
        #expect(try Wrapper.target(of: WebURL(parsing: text)) == nil)
    }

    @Test(
        arguments: [
            (
                "go.example.org/out url", "https://www.go.example.org/out/x?url=https%3A%2F%2Fi.example%2F",
                "https://i.example/"
            ),
            ("go.example.org t", "http://go.example.org/?a=b&t=http://i.example/c", "http://i.example/c"),
            ("*.example.org t", "http://a.b.example.org/?t=http://i.example/", "http://i.example/"),
            ("*.example.org t", "http://notexample.org/?t=http://i.example/", nil),
            ("go.example.org/out url", "http://go.example.org/in?url=http://i.example/", nil),
        ] as [(String, String, String?)])
    func administratorNamesWrappersToo(rule: String, address: String, target: String?) throws {
        let rule = try #require(WrapperRule(rule))
        #expect(try Wrapper.target(of: WebURL(parsing: address), also: [rule])?.description == target)
        #expect(WrapperRule("\(rule)") == rule)
    }

    @Test(arguments: ["", "example.org", "example.org/ a b", "localhost u", "1.2.3.4 u", "exa mple.org u", "* u"])
    func whatIsNoWrapperRuleIsRefused(text: String) { #expect(WrapperRule(text) == nil) }

    /// The target is in the wrapper's URL, so the wrapper's host is never contacted.
    @Test func wrapperNeedsNoRequest() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>T</title>")
        } _: { server in
            try await withClient { client in
                let output = try await Unfurl(client: client).run(
                    Unfurl.Input(url: "https://l.facebook.com/l.php?u=\(server.origin)/x"), context: OperationContext())
                #expect(output.finalURL == server.origin + "/x")
                #expect(output.hops.first?.via == .wrapper)
                #expect(output.isDowngraded)
            }
        }
    }

    @Test(
        arguments: [
            ("http://h/?utm_source=a&id=1&UTM_Medium=b&fbclid=c", "http://h/?id=1"),
            ("http://h/?gclid=1#f", "http://h/#f"),
            ("http://h/?a=b&&c", "http://h/?a=b&&c"), ("http://h/?my_own=1&x=2", "http://h/?x=2"),
            ("http://h/", "http://h/"),
        ])
    func trackingParametersAreDroppedAndNothingElse(text: String, cleaned: String) throws {
        var rules = TrackingRules()
        rules.add(["my_*"])
        #expect(try rules.clean(WebURL(parsing: text)).description == cleaned)
    }

    @Test(
        arguments: [
            ("http://a.shop.example/?ref=1&own=2&id=3", "http://a.shop.example/?id=3"),
            ("http://shop.example.org/?ref=1&own=2", "http://shop.example.org/?ref=1"),
            ("http://news.example/?utm_source=1&src=2&spread_x=3", "http://news.example/?utm_source=1&src=2"),
            ("http://h.example/?src=2&Spread_x=3&id=1", "http://h.example/?id=1"),
            ("http://keep.example/?utm_source=1&own=2&gclid=3", "http://keep.example/?utm_source=1&own=2&gclid=3"),
        ])
    func trackingParametersOfAListAreDropped(text: String, cleaned: String) throws {
        let list = try TrackingList(
            """
            [Adblock Plus 2.0]
            ! Title: a list of our own
            # names
            own
            spread_*
            shop.example ref

            $removeparam=src
            ||other.example^$removeparam=x,document
            @@||news.example^$removeparam=src
            @@||news.example^$removeparam=utm_*
            @@||keep.example^$removeparam
            $removeparam=/^tr[0-9]$/
            ||third.example^$removeparam=y,third-party
            ||shop.example/path$removeparam=z
            $removeparam
            $removeparam=*
            $removeparam=a|b
            ||google.*^$removeparam=own2
            ||tracker.example^
            shop.example##.advert
            """)
        #expect(list.count == 8)
        #expect(list.skipped == 9)
        var rules = TrackingRules()
        rules.add(list)
        #expect(try rules.clean(WebURL(parsing: text)).description == cleaned)
    }

    /// An exception that is not supported exactly keeps more parameters than it names.
    @Test(
        arguments: [
            "@@||shop.example/path^$removeparam=ref", "@@||shop.example^$removeparam=ref,xmlhttprequest",
            "@@$removeparam=ref,domain=news.example", "@@||shop.*^$removeparam=ref",
            "@@||shop.example^$removeparam=/^r/",
            "$removeparam=ref,badfilter", "@@||*.shop.example^$removeparam=~x", "@@||example^$removeparam",
        ])
    func exceptionOfAListIsNeverLost(line: String) throws {
        var rules = TrackingRules()
        rules.add(try TrackingList("$removeparam=ref\r\nown\r\n\(line)\r\n"))
        #expect(try rules.clean(WebURL(parsing: "http://a.shop.example/path?ref=1")).description.hasSuffix("?ref=1"))
        let other = line.contains("/^r/") || line.hasSuffix("~x") || line.hasSuffix("removeparam") ? "?own=1" : ""
        #expect(try rules.clean(WebURL(parsing: "http://a.shop.example/?own=1")).description.hasSuffix("/" + other))
    }

    @Test(arguments: ["*.shop.example ref", "shop.example. ref", "\u{FEFF}shop.example ref"])
    func hostOfAListIsMeantWithWhatIsBeneath(line: String) throws {
        var rules = TrackingRules()
        rules.add(try TrackingList(line))
        #expect(
            try rules.clean(WebURL(parsing: "http://a.shop.example/?ref=1")).description == "http://a.shop.example/")
    }

    @Test(arguments: ["a b c", "a=b", "example.org:80 x", "x*y", "/re/"])
    func listWithALineThatIsNoNameIsRefused(line: String) {
        #expect(throws: TrackingList.Problem(line: 2)) { try TrackingList("ok\n\(line)") }
    }

    @Test func manyWhoAskForOneLinkAskItsServerOnce() async throws {
        try await LoopbackServer.with {
            $0.path == "/a" ? .redirect(302, to: "/b") : .respond(200, [("content-type", "image/png")])
        } _: {
            server in
            try await withClient { client in
                let unfurl = Unfurl(client: client)
                let outputs = try await withThrowingTaskGroup(of: Unfurl.Output.self) { group in
                    for _ in 0..<30 {
                        group.addTask {
                            try await unfurl.run(Unfurl.Input(url: server.origin + "/a"), context: OperationContext())
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(Set(outputs).count == 1)
                #expect(server.requests.count == 2)
            }
        }
    }

    @Test func headThatRunsInCirclesIsFollowedByGet() async throws {
        try await LoopbackServer.with {
            $0.method == "HEAD" ? .redirect(302, to: "/a") : .text("<title>A</title>")
        } _: { server in
            try await withClient { client in
                let output = try await Unfurl(client: client).run(
                    Unfurl.Input(url: server.origin + "/a"), context: OperationContext())
                #expect(output.title == "A")
            }
        }
    }
}
