import Jobs
import OperationTypes
import Servers
import Synchronization
import Testing
import Web
import WebSyntax

@testable import Kinds
@testable import Pages

/// The requests that `enrich` sends, and how much of each response it waits for.
@Suite struct FetchTests {
    /// A head with every field, each in a place that the body cannot override.
    private static let wholeHead = """
        <!doctype html><html lang=en><head><title>Story</title><meta property="og:title" content="Story">
        <meta property="og:type" content="article"><meta property="og:site_name" content="The Rigger">
        <meta property="og:description" content="D"><meta property="og:image" content="/p.png">
        <meta property="og:image:width" content="10"><meta property="og:image:height" content="10">
        <meta property="article:tag" content="rope"><meta property="article:section" content="Rigging">
        <script type="application/ld+json">{"@type":"Article","headline":"Story","author":{"name":"Ada Lovelace"},
        "datePublished":"2024-02-03","dateModified":"2024-02-04","wordCount":9}</script></head>
        """

    private func enrich(
        _ handler: @escaping LoopbackServer.Handler, _ input: (String) -> Enrich.Input
    ) async throws -> (Enrich.Output, [LoopbackServer.Request]) {
        try await LoopbackServer.with(handler) { server in
            try await withClient { client in
                let output = try await Enrich(client: client).result(input(server.origin))
                return (output, server.requests)
            }
        }
    }

    /// The server never sends the body, so the download succeeds only if it ends with the head.
    @Test func downloadEndsWithAHeadThatSaysAll() async throws {
        let head = Array("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000000\r\n\r\n".utf8)
        let (output, _) = try await enrich { _ in
            .raw(head + Array((Self.wholeHead + "<body>" + String(repeating: " ", count: 512)).utf8), closes: false)
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.isHeadOnly == true)
        #expect(output.isTruncated)
        #expect(output.title == "Story")
        #expect(output.author == "Ada Lovelace")
        #expect(output.wordCount == 9)
    }

    /// The limits of the configuration may exceed the ranges of an input's fields.
    @Test func configurationMayReadMoreThanAnInputMayAskFor() async throws {
        let page = "<title>Story</title>" + String(repeating: " ", count: 3 << 20)
        var configuration = EnrichConfiguration()
        configuration.maxBytes = 4 << 20
        configuration.maxRedirects = 60
        let output = try await LoopbackServer.with { _ in
            .respond(200, [("content-type", "text/html")], Array(page.utf8))
        } _: { [configuration] server in
            try await withClient { client in
                let enrich = Enrich(client: client, configuration: configuration)
                let refused = await failure { () async throws(KindFailure) in
                    try await enrich.run(
                        Enrich.Input(url: server.origin, maxSize: ByteSize(3 << 20)), context: OperationContext())
                }
                #expect(refused?.code == "invalid_input")
                return try await enrich.result(Enrich.Input(url: server.origin))
            }
        }
        #expect(output.bytes == page.utf8.count && !output.isTruncated)
    }

    /// The server closes the connection before it has sent the announced length.
    @Test(arguments: ["content-length: 1000000\r\n\r\n%", "transfer-encoding: chunked\r\n\r\nFFFF\r\n%"])
    func pageThatComesShortIsDescribed(rest: String) async throws {
        let page = "<head><title>Story</title></head><body><p>It goes on.</p></body></html>"
        let (output, requests) = try await enrich { _ in
            .raw(
                Array("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\(rest.replacing("%", with: page))".utf8),
                closes: true)
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.title == "Story")
        #expect(output.isTruncated)
        #expect(requests.count == 1)
    }

    @Test(arguments: ["CAPTCHA - Wikipedia", "404 - Wikipedia", "Before you continue - a play"])
    func pageAboutAWallIsNone(title: String) async throws {
        let text = String(repeating: "<p>A page of many words on what stands before pages.</p>", count: 100)
        for head in ["", "<link rel=canonical href=/wiki>", "<meta property=og:type content=article>"] {
            let (output, _) = try await enrich { _ in
                .text("<title>\(title)</title>\(head)<body>\(text)")
            } _: {
                Enrich.Input(url: $0)
            }
            #expect(output.title?.isEmpty == false)
        }
    }

    @Test(
        arguments: [
            "<title>Nur einen Moment…</title><script src=/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1></script>",
            "<title>Before you continue</title><form action=/consent/save><input name=continue value=/story></form>",
            "<title>CAPTCHA</title><form><input name=answer></form>",
        ])
    func wallIsBlockedWhateverItsLanguage(page: String) async throws {
        let failure = await #expect(throws: KindFailure.self) {
            _ = try await self.enrich { _ in
                .text(page)
            } _: {
                Enrich.Input(url: $0)
            }
        }
        #expect(failure?.code == "blocked")
    }

    /// The missing rest of the head might change the result, so the failure is retryable.
    @Test func pageCutWithinItsHeadIsAskedForAgain() async throws {
        let failure = await #expect(throws: KindFailure.self) {
            _ = try await self.enrich { _ in
                .raw(
                    Array(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99999\r\n\r\n<head><title>Sto"
                            .utf8),
                    closes: true)
            } _: {
                Enrich.Input(url: $0)
            }
        }
        #expect(failure?.code == "connection_lost")
        #expect(failure?.isRetryable == true)
    }

    @Test(
        arguments: [
            "", wholeHead.replacing("\"wordCount\":9", with: "\"x\":9"), wholeHead.replacing("og:site_name", with: "x"),
            wholeHead.replacing("\"headline\":\"Story\"", with: "\"headline\":\"Else\""),
            "<!-- </head> -->" + wholeHead.replacing("og:image\"", with: "x\""),
            "<script>'</head><body>'</script>" + wholeHead.replacing("\"author\"", with: "\"x\""),
        ])
    func bodyIsReadWhereTheHeadLeavesSomethingOpen(head: String) async throws {
        let page = head + String(repeating: "<p>word</p>", count: 1000) + "<h1>Last</h1>"
        let (output, _) = try await enrich { _ in
            .text(page)
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.isHeadOnly == nil)
        #expect(!output.isTruncated)
        #expect(output.bytes == page.utf8.count)
    }

    @Test func headAndWholePageGiveTheSame() async throws {
        let page = Self.wholeHead + "<body>" + String(repeating: "<p>word</p>", count: 100_000) + "<h1>Last</h1>"
        let (output, _) = try await enrich { _ in
            .text(page)
        } _: {
            Enrich.Input(url: $0)
        }
        var whole = DocumentMetadata(
            of: Array(page.utf8), url: try WebURL(parsing: output.url), contentType: output.contentType)
        (whole.bytes, whole.disagreements) = (output.bytes, output.disagreements)
        #expect(output.metadata == whole)
        #expect(output.hops?.map(\.status) == [200])
        var response = output.response
        (response.isHeadOnly, response.isTruncated) = (nil, false)
        #expect(output.isHeadOnly == true && output.isTruncated)
        #expect(response == Enrich.Response(status: 200, hops: output.hops))
    }

    @Test func unchangedPageIsNotSentAgain() async throws {
        let handler: LoopbackServer.Handler = { request in
            request.header("if-none-match") == "\"v1\""
                ? .respond(304, [("etag", "\"v1\"")])
                : .respond(
                    200,
                    [
                        ("content-type", "text/html"), ("etag", "\"v1\""),
                        ("last-modified", "Sat, 03 Feb 2024 04:05:06 GMT"),
                    ],
                    Array("<title>T</title>".utf8))
        }
        let (first, _) = try await enrich(handler) { Enrich.Input(url: $0) }
        #expect(first.etag == "\"v1\"")
        #expect(first.lastModified == "Sat, 03 Feb 2024 04:05:06 GMT")
        let (second, requests) = try await enrich(handler) {
            Enrich.Input(url: $0, etag: first.etag, lastModified: first.lastModified)
        }
        #expect(second.isUnchanged == true)
        #expect(second.status == 304)
        #expect(second.title == nil)
        #expect(requests.first?.header("if-modified-since") == first.lastModified)
    }

    @Test func notModifiedThatNobodyAskedForIsAFailure() async throws {
        let problem = await #expect(throws: KindFailure.self) {
            _ = try await enrich { _ in
                .respond(304, [])
            } _: {
                Enrich.Input(url: $0)
            }
        }
        #expect(problem?.status == 304)
    }

    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [
            0, 0, 4, 176, 0, 0, 2, 118,
        ]

    @Test func picturesSizeIsReadFromItsBeginning() async throws {
        // The server never sends the whole picture.
        let start = Array("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 99999999\r\n\r\n".utf8)
        let picture = Self.png + [UInt8](repeating: 0, count: 70 << 10)
        let (output, requests) = try await enrich { request in
            switch request.path {
            case "/": .text("<meta property=og:image content=/moved.png>")
            case "/moved.png": .redirect(302, to: "/p.png")
            default: .raw(start + picture, closes: false)
            }
        } _: {
            Enrich.Input(url: $0 + "/")
        }
        #expect(output.images?.first?.width == 1200)
        #expect(output.images?.first?.height == 630)
        #expect(output.images?.first?.type == "image/png")
        #expect(output.sources["image_size"] == "file")
        #expect(requests.last?.header("range") == "bytes=0-65535")
    }

    @Test(arguments: [
        LoopbackServer.Answer.close, .respond(404), .text("<title>no picture</title>"),
        .redirect(302, to: "http://10.0.0.1/"),
    ])
    func pictureThatCannotBeMeasuredSpoilsNothing(answer: LoopbackServer.Answer) async throws {
        let (output, _) = try await enrich { request in
            request.path == "/" ? .text("<title>T</title><meta property=og:image content=/p.png>") : answer
        } _: {
            Enrich.Input(url: $0 + "/")
        }
        #expect(output.title == "T")
        #expect(output.images?.first?.width == nil)
    }

    @Test func pictureIsNotFetchedWithoutNeed() async throws {
        let page = "<meta property=og:image content=/p.png>"
        let (_, asked) = try await enrich { _ in
            .text(page)
        } _: {
            Enrich.Input(url: $0 + "/", measuresImage: false)
        }
        #expect(asked.count == 1)
        let sized = page + "<meta property=og:image:width content=10><meta property=og:image:height content=10>"
        let (_, known) = try await enrich { _ in
            .text(sized)
        } _: {
            Enrich.Input(url: $0 + "/")
        }
        #expect(known.count == 1)
    }

    /// A PDF of `count` bytes, with its title at the beginning, and its pages and its table at the end.
    private static func longPDF(_ count: Int) -> [UInt8] {
        let start = Array("%PDF-1.4\n2 0 obj<</Title(Long)>>endobj\n".utf8)
        let end = { (place: Int) in
            """
            1 0 obj<</Type/Pages/Count 12/Kids[]>>endobj
            3 0 obj<</Type/Catalog/Pages 1 0 R>>endobj
            xref 1 3 \(place) 0 n 9 0 n \(place + 45) 0 n
            trailer<</Root 3 0 R/Info 2 0 R>>
            startxref \(place + 88)
            """
        }
        let place = count - end(count).utf8.count
        return start + [UInt8](repeating: 0x20, count: place - start.count) + Array(end(place).utf8)
    }

    /// A PDF over the limit is read at both ends, since its metadata is found from the end. Bytes in both ranges are
    /// used once.
    @Test(arguments: [3 << 20, 2 << 20 + 1, 2 << 20 + 170, 2 << 20 + 256 << 10])
    func longPDFIsReadAtBothEnds(count: Int) async throws {
        let pdf = Self.longPDF(count)
        let (output, requests) = try await enrich { request in
            let type = [("content-type", "application/pdf"), ("accept-ranges", "bytes")]
            let range = "bytes \(count - Enrich.pdfTailBytes)-\(count - 1)/\(count)"
            return request.header("range") == nil
                ? .respond(200, type, pdf)
                : .respond(206, type + [("content-range", range)], Array(pdf.suffix(Enrich.pdfTailBytes)))
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.title == "Long")
        #expect(output.pages == 12)
        #expect(output.isTruncated)
        #expect(output.bytes == min(count, 2 << 20 + Enrich.pdfTailBytes))
        #expect(requests.count == 2)
    }

    /// The bytes are useless if their offset in the file is unknown.
    @Test(arguments: [nil, "bytes */3145728", "pages 1-2/3", "bytes -5-9/10", "bytes"])
    func endOfAPDFWithoutItsPlaceIsNotUsed(range: String?) async throws {
        let pdf = Self.longPDF(3 << 20)
        let (output, requests) = try await enrich { request in
            let type = [("content-type", "application/pdf"), ("accept-ranges", "bytes")]
            return request.header("range") == nil
                ? .respond(200, type, pdf)
                : .respond(206, type + (range.map { [("content-range", $0)] } ?? []), Array(pdf.suffix(256 << 10)))
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.title == nil && output.pages == nil)
        #expect(output.type == "document" && output.bytes == 2 << 20)
        #expect(requests.count == 2)
    }

    /// The beginning is enough to describe a picture or a film; nothing waits for the rest.
    @Test func fileIsToldByItsFirst64KiB() async throws {
        let start = Array("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 99999999\r\n\r\n".utf8)
        let (output, _) = try await enrich { _ in
            .raw(start + Self.png + [UInt8](repeating: 0, count: 80 << 10), closes: false)
        } _: {
            Enrich.Input(url: $0)
        }
        #expect(output.width == 1200)
        #expect(output.isTruncated)
        #expect(output.image == output.url)
    }
}
