import Jobs
import OperationTypes
import Pages
import Servers
import Testing
import Web

@testable import Kinds

@Suite struct EnrichTests {
    private func enrich(_ answer: LoopbackServer.Answer, maxSize: ByteSize? = nil) async throws -> Enrich.Output {
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                try await Enrich(client: client).run(
                    Enrich.Input(url: server.origin + "/dir/page", maxSize: maxSize), context: OperationContext())
            }
        }
    }

    @Test(arguments: [
        (
            Enrich.Input(url: "http://h/", maxSize: ByteSize(0)),
            "write a number with a unit (B, KiB, MiB, GiB, TiB) from 1B to 2MiB"
        ),
        (Enrich.Input(url: "http://h/", maxRedirects: 51), "must be from 0 to 50, found 51"),
        (Enrich.Input(url: "http://h/", timeout: .zero), "write a number with a unit (ms, s, m, h, d) of at least 1ms"),
    ])
    func aNumberThatNoDefinitionMayHoldIsRefusedByTheKindToo(input: Enrich.Input, reason: String) async throws {
        let refusal = try await withClient { client in
            await failure { () async throws(KindFailure) in
                try await Enrich(client: client).run(input, context: OperationContext())
            }
        }
        #expect(refusal?.code == "invalid_input")
        #expect(refusal?.message.contains(reason) == true, "\(refusal?.message ?? "none")")
    }

    @Test func fieldsComeFromTheDocument() async throws {
        let output = try await enrich(
            .text(
                """
                <!doctype html><html lang=de-AT><head><base href="/base/"><title> Plain
                 title </title>
                <meta name=description content="Words &amp; more"><meta property="og:title" content="The title">
                <meta property="og:site_name" content="Site"><meta property="og:type" content="article">
                <meta property="og:image" content="pic.jpg"><meta property="article:published_time" content="2024-02-03T04:05:06Z">
                <meta name="author" content="Ada L."><meta name="twitter:card" content="summary">
                <link rel="Canonical" href="../canon"><link rel="shortcut icon" href="/f.ico"></head><body><h1>Head</h1>
                """))
        #expect(output.title == "The title")
        #expect(output.sources["title"] == "og:title")
        #expect(output.description == "Words & more")
        #expect(output.language == "de-AT")
        #expect(output.siteName == "Site")
        #expect(output.type == "article")
        #expect(output.author == "Ada L.")
        #expect(output.published == "2024-02-03T04:05:06Z")
        #expect(output.image?.hasSuffix("/base/pic.jpg") == true)
        #expect(
            output.canonicalURL?.hasSuffix(
                ":" + (output.url.split(separator: ":").last?.prefix { $0 != "/" } ?? "") + "/canon") == true)
        #expect(output.icon?.hasSuffix("/f.ico") == true)
        #expect(output.twitter == ["twitter:card": "summary"])
        #expect(output.openGraph["og:title"] == ["The title"])
    }

    @Test func bodyIsCutAtTheLimitAndNeverRefused() async throws {
        let page = "<title>T</title>" + String(repeating: "<p>x", count: 100_000)
        let output = try await enrich(.text(page), maxSize: ByteSize(1000))
        #expect(output.title == "T")
        #expect(output.isTruncated)
        #expect(output.bytes == 1000)
    }

    @Test(
        arguments: [
            (nil, "windows-1252", [0xE9]), (nil, "utf-8", [0xC3, 0xA9]), ("iso-8859-1", "windows-1252", [0xE9]),
            ("utf-8", "utf-8", [0xC3, 0xA9]), ("koi8-r", "koi8-r", [0xC5]), ("Shift_JIS", "shift_jis", [0x83, 0x65]),
            ("gb2312", "gbk", [0xC4, 0xE3]), ("windows-1251", "windows-1251", [0xE5]),
        ] as [(String?, String, [UInt8])])
    func charsetIsHonoured(label: String?, name: String, bytes: [UInt8]) async throws {
        let expected = [
            "windows-1252": "é", "utf-8": "é", "koi8-r": "е", "shift_jis": "テ", "gbk": "你", "windows-1251": "е",
        ]
        let body = Array("<title>".utf8) + bytes + Array("</title>".utf8)
        let type = "text/html" + (label.map { "; charset=\($0)" } ?? "")
        let output = try await enrich(.respond(200, [("content-type", type)], body))
        #expect(output.charset == name)
        #expect(output.title == expected[name])
        guard let label else { return }
        let meta = Array("<meta charset='\(label)'>".utf8) + body
        #expect(try await enrich(.respond(200, [("content-type", "text/html")], meta)).title == expected[name])
        let old = Array("<meta content='text/html; charset=\(label)' http-equiv=Content-Type>".utf8) + body
        #expect(try await enrich(.respond(200, [("content-type", "text/html")], old)).title == expected[name])
        let declared = Array("<?xml version='1.0' encoding = \"\(label)\"?>".utf8) + body
        #expect(try await enrich(.respond(200, [("content-type", "text/html")], declared)).title == expected[name])
    }

    @Test(arguments: ["none", "utf-8", "identity", "UTF-8, none"])
    func codingThatIsNoneIsPassedOver(coding: String) async throws {
        let page = Array("<title>T</title>".utf8)
        let output = try await enrich(
            .respond(200, [("content-type", "text/html"), ("content-encoding", coding)], page))
        #expect(output.title == "T")
    }

    @Test func codingThatCannotBeUndoneIsAFailure() async throws {
        let failure = await #expect(throws: KindFailure.self) {
            _ = try await self.enrich(.respond(200, [("content-encoding", "compress")], [0x1F, 0x9D]))
        }
        #expect(failure?.code == "protocol_error")
    }

    @Test func byteOrderMarkWins() async throws {
        let utf16: [UInt8] =
            [0xFF, 0xFE]
            + "<title>é</title>".utf16.flatMap { unit -> [UInt8] in [UInt8(unit & 255), UInt8(unit >> 8)] }
        let output = try await enrich(.respond(200, [("content-type", "text/html; charset=utf-8")], utf16))
        #expect(output.title == "é")
        #expect(output.charset == "utf-16le")
    }

    @Test func redirectToAPrivateAddressIsRefused() async throws {
        let failure = await #expect(throws: KindFailure.self) {
            _ = try await self.enrich(.redirect(302, to: "http://192.168.0.1/"))
        }
        #expect(failure?.code == "address_refused")
    }
}
