import Samples
import Testing

@testable import WebSyntax

/// Results of the URL Standard, checked manually against its text and its published test data.
@Suite struct WebURLTests {
    @Test(
        arguments: [
            ("http://example.com", "http://example.com/"),
            ("HTTP://EXAMPLE.com:80/a/../b?q#f", "http://example.com/b?q#f"),
            ("https://example.com:443", "https://example.com/"),
            ("https://example.com:8443/", "https://example.com:8443/"),
            ("  http://example.com/a b\n", "http://example.com/a%20b"),
            ("http:\\\\example.com\\a\\b", "http://example.com/a/b"),
            ("http:/example.com/", "http://example.com/"),
            ("http:example.com/", "http://example.com/"),
            ("http://user:pass@example.com/", "http://example.com/"),
            ("http://a@b@example.com/", "http://example.com/"),
            ("http://google.com\\@evil.example/", "http://google.com/@evil.example/"),
            ("http://google.com#@evil.example/", "http://google.com/#@evil.example/"),
            ("http://evil.example?@google.com/", "http://evil.example/?@google.com/"),
            ("http://example.com/%2e%2E/x/./y/%2e", "http://example.com/x/y/"),
            ("http://example.com/é?é#é", "http://example.com/%C3%A9?%C3%A9#%C3%A9"),
            ("http://example.com/?a='\"<>`{}", "http://example.com/?a=%27%22%3C%3E`{}"),
            ("http://ex\tam\nple.com/", "http://example.com/"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://faß.de/", "http://xn--fa-hia.de/"),
            ("http://ＧＯ.com/", "http://go.com/"),
            ("http://a%41b.com/", "http://aab.com/"),
            ("http://example.com./", "http://example.com./"),
            ("http://0x7f000001/", "http://127.0.0.1/"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://017700000001/", "http://127.0.0.1/"),
            ("http://0177.0.0.0x1/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://１２７.０.０.１/", "http://127.0.0.1/"),
            ("http://%31%32%37.0.0.1/", "http://127.0.0.1/"),
            ("http://0/", "http://0.0.0.0/"),
            ("http://[::1]/", "http://[::1]/"),
            ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
            ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
            ("http://[2001:DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
        ])
    func absoluteAddressIsNormalized(text: String, expected: String) throws {
        #expect(try WebURL(parsing: text).description == expected)
    }

    @Test(
        arguments: [
            "", "example.com", "//example.com", "ftp://example.com/", "javascript:alert(1)", "file:///etc/passwd",
            "http://",
            "http:///", "http://?", "http://exa mple.com/", "http://a<b.com/", "http://a%00b.com/", "http://a%2fb.com/",
            "http://256.0.0.1/", "http://1.2.3.4.5/", "http://0x100000000/", "http://1.2.3.08/", "http://foo.0x4/",
            "http://127..1/", "http://[::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1", "http://[1:2:3]/",
            "http://[1::2::3]/", "http://[::1.2.3]/", "http://[::01.2.3.4]/", "http://example.com:65536/",
            "http://example.com:80a/", "http://example.com:-1/", "http://xn--/", "http://user@/",
        ])
    func whatTheStandardRefusesIsRefused(text: String) {
        #expect(throws: WebURLProblem.self) { try WebURL(parsing: text) }
    }

    /// These inputs, found by fuzzing, caused endless recursion.
    @Test(arguments: ["http://[1.2:3]/", "http://[::1.2.3:f:1.2.3.4]/", "http://[f:1.2.3::4]/"])
    func colonBehindAnEmbeddedIPv4AddressIsRefused(text: String) {
        #expect(throws: WebURLProblem.badHost) { try WebURL(parsing: text) }
    }

    @Test(
        arguments: [
            ("", "http://h/a/b?q"), ("c", "http://h/a/c"), ("./c", "http://h/a/c"), ("../c", "http://h/c"),
            ("../../../c", "http://h/c"), ("/c", "http://h/c"), ("//i/c", "http://i/c"), ("\\\\i\\c", "http://i/c"),
            ("/\\i/c", "http://i/c"), ("?r", "http://h/a/b?r"), ("#f", "http://h/a/b?q#f"), ("http:c", "http://h/a/c"),
            ("http:/c", "http://h/c"), ("https:c", "https://c/"), ("http://i", "http://i/"), (".", "http://h/a/"),
            ("..", "http://h/"), ("c/", "http://h/a/c/"), ("///i", "http://i/"), ("a:b", "unsupported"),
        ])
    func referenceIsResolved(reference: String, expected: String) throws {
        let base = try WebURL(parsing: "http://h/a/b?q#old")
        if expected == "unsupported" {
            #expect(throws: WebURLProblem.unsupportedScheme("a")) { try WebURL(parsing: reference, base: base) }
        } else {
            #expect(try WebURL(parsing: reference, base: base).description == expected)
        }
    }

    @Test func messagesDoNotShowQueriesOrPasswords() throws {
        let url = try WebURL(parsing: "https://u:canary1@h/p?token=canary2#canary3")
        #expect(url.redacted == "https://h/p?…")
        #expect(url.hadUserinfo)
    }

    @Test func requestTargetIsValid() throws {
        let url = try WebURL(parsing: "http://example.com./a|b/%zz?x=[1]^&y=%41")
        #expect(url.requestTarget == "/a%7Cb/%25zz?x=%5B1%5D%5E&y=%41")
    }

    /// The parser never traps, and its output parses to itself.
    @Test(arguments: UInt64(1)...4) func serializedAddressParsesToItself(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let pieces = [
            "http:", "https:", "//", "/", "\\", "@", ":", "?", "#", "[", "]", "::", "1", "0x", "127.0.0.1", "%", "%2e",
            "..", ".",
            "é", "xn--", "\t", " ", "\u{0}", "a", "Z", "-", "|", "\u{202E}", "ß", "80", "65536",
        ]
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...10, using: &random)
            let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
            guard let url = try? WebURL(parsing: text) else { continue }
            #expect((try? WebURL(parsing: "\(url)"))?.description == "\(url)", "seed \(seed): \(text.debugDescription)")
            #expect(
                url.requestTarget.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "seed \(seed): \(text.debugDescription)")
        }
    }
}
