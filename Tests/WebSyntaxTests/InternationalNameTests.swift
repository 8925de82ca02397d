import Foundation
import Testing

@testable import WebSyntax

/// Host names as browsers process them: UTS 46 with the URL Standard's settings.
@Suite struct InternationalNameTests {
    @Test(arguments: [
        ("☃.net", "xn--n3h.net"), ("💩.la", "xn--ls8h.la"), ("i❤️.ws", "xn--i-7iq.ws"), ("I❤.ws", "xn--i-7iq.ws"),
        ("faß.de", "xn--fa-hia.de"), ("FAẞ.de", "xn--fa-hia.de"), ("Bücher.example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"), ("xn--ls8h.la", "xn--ls8h.la"),
        ("日本語。jp", "xn--wgv71a119e.jp"),
        ("ｅｘａｍｐｌｅ．com", "example.com"), ("a\u{AD}b.com", "ab.com"), ("βόλος.com", "xn--nxasmm1c.com"),
        ("نامه\u{200C}ای.com", "xn--mgba3gch31f060k.com"), ("a..ü", "a..xn--tda"), ("ab--cü.com", "xn--ab--c-ova.com"),
        ("_dmarc.ü.de", "_dmarc.xn--tda.de"), ("-ü-.de", "xn-----xka.de"), ("１２７.0.0.1", "127.0.0.1"),
        ("אבג.com", "xn--4dbcd.com"), ("≠.com", "xn--1ch.com"),
    ])
    func nameIsReadAsBrowsersDo(name: String, ascii: String) {
        #expect(InternationalName.ascii(name) == ascii)
        #expect(WebHost(parsing: name)?.description == ascii)
        #expect(InternationalName.ascii(ascii) == ascii)
    }

    @Test(arguments: [
        "a\u{200C}b.ü", "xn--a", "xn--", "xn--a-.ü", "xn--ü", "\u{301}a.de", "xn--zca\u{301}", "א1a.com", "0à.\u{5D0}",
        "xn--xn--bcher-kva-", "xn--99999999999", "ü%00", "ü b", "ü\u{FF0F}b", "ü:",
        "\u{FFFD}.ü", "xn---tda.com",
        "xn--bcher-kvA\u{AD}\u{301}",
    ])
    func whatBrowsersRefuseIsRefused(name: String) { #expect(WebHost(parsing: name) == nil) }

    /// A name whose conversion would take quadratic time is refused immediately.
    @Test(.timeLimit(.minutes(1))) func longNameIsRefused() {
        let long = String(String.UnicodeScalarView((0x4E00..<0x8E00).compactMap { Unicode.Scalar($0 as UInt32) }))
        #expect(WebHost(parsing: long) == nil)
        #expect(WebHost(parsing: "xn--" + String(repeating: "a", count: 100_000)) == nil)
    }

    static let testFile = ["/usr/share/cargo/registry"].flatMap { folder in
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
            .map { "\(folder)/\($0)/tests/IdnaTestV2.txt" }
    }.first { FileManager.default.fileExists(atPath: $0) }

    /// Runs every case of Unicode's conformance test.
    @Test(.enabled(if: testFile != nil, "librust-idna-dev is not installed"))
    func everyConformanceCasePasses() throws {
        let text = try String(contentsOfFile: try #require(Self.testFile), encoding: .utf8)
        var judged = 0
        for line in text.split(separator: "\n") {
            let columns = line.prefix { $0 != "#" }.split(separator: ";", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard columns.count >= 5 else { continue }
            let source = Self.unescaped(columns[0])
            // Two invisible vowels are ignored since Unicode 16, but were disallowed before.
            if source.unicodeScalars.contains(where: { 0x17B4...0x17B5 ~= $0.value }) { continue }
            let unicode = columns[1].isEmpty ? source : Self.unescaped(columns[1])
            let ascii = columns[3].isEmpty ? unicode : Self.unescaped(columns[3])
            let status = columns[4].isEmpty ? columns[2] : columns[4]
            // The conversion does not check hyphens, lengths, or the restriction to the characters of host names.
            let problems = status.split { "[], ".contains($0) }
                .filter { !["V2", "V3", "U1", "A4_1", "A4_2", "X4_2"].contains($0) }
            judged += 1
            let found = InternationalName.ascii(source)
            if problems.isEmpty {
                // A label must not be encoded twice since Unicode 15.1.
                let isTwice = unicode.split(separator: ".").contains { $0.hasPrefix("xn--") }
                #expect(found == (isTwice ? nil : ascii), "\(line)")
            } else if !problems.allSatisfy({ ["P1", "V6", "V7"].contains($0) }),
                !(problems.contains("P1") && problems.contains("A3"))
            {
                // Unicode versions differ in the disallowed characters. Together with P1, A3 only repeats that: a label
                // with a character like `?` cannot be decoded again.
                #expect(found == nil, "\(line)")
            }
        }
        #expect(judged > 5000)
    }

    private static func unescaped(_ text: String) -> String {
        if text == "\"\"" { return "" }
        var output = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let kind = rest.first else {
                output.append(scalar)
                continue
            }
            let digits: Substring.UnicodeScalarView
            if kind == "u" {
                digits = rest.dropFirst().prefix(4)
                rest = rest.dropFirst(5)
            } else {
                digits = rest.dropFirst(2).prefix { $0 != "}" }
                rest = rest.dropFirst(3 + digits.count)
            }
            output.append(UInt32(String(Substring(digits)), radix: 16).flatMap(Unicode.Scalar.init) ?? "\u{FFFD}")
        }
        return String(output)
    }
}
