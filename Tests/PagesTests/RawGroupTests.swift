import Foundation
import Testing
import WebSyntax

@testable import Pages

/// The page's own values are kept unchanged, and within bounds.
@Suite struct RawGroupTests {
    private func describe(_ html: String) throws -> DocumentMetadata {
        DocumentMetadata(
            of: Array(html.utf8), url: try WebURL(parsing: "https://www.example.org/x"), contentType: "text/html")
    }

    @Test func groupsAreKeptAsThePageGivesThem() throws {
        let output = try describe(
            """
            <meta property="og:title" content="A"><meta property="og:image" content="/1"><meta property="og:image" content="/2">
            <meta name="twitter:card" content="summary"><meta name="DC.title" content="B"><meta name="citation_author" content="C">
            <meta name="generator" content="x">
            <script type="application/ld+json">{"@type":"Article","headline":"D","wordCount":7,"isAccessibleForFree":true,
            "author":[{"name":"Ada"},null,2.5],"articleBody":"all of it"}</script><script type="application/ld+json">["E"]</script>
            <div itemscope itemtype="https://schema.org/Book"><span itemprop=name>F</span></div>
            """)
        #expect(output.openGraph == ["og:title": ["A"], "og:image": ["/1", "/2"]])
        #expect(output.twitter == ["twitter:card": "summary"])
        #expect(output.dublinCore == ["dc.title": ["B"]])
        #expect(output.citation == ["citation_author": ["C"]])
        let article: JSONValue = .object([
            ("@type", .string("Article")), ("headline", .string("D")), ("wordCount", .number(7)),
            ("isAccessibleForFree", .bool(true)),
            ("author", .array([.object([("name", .string("Ada"))]), .null, .number(2.5)])),
        ])
        #expect(output.jsonLD == [article, .array([.string("E")])])
        #expect(
            output.microdata == [
                .object([("@type", .string("https://schema.org/Book")), ("name", .string("F"))])
            ])
    }

    @Test func whatAnotherSourceSaysIsKept() throws {
        let output = try describe(
            """
            <meta property="og:title" content="A"><title>B</title><meta property="og:description" content="C">
            <meta name=description content="D"><link rel=canonical href=/e><meta property="og:url" content="/f">
            <meta name=author content="Ada Lovelace"><meta name="dc.creator" content="Charles Babbage">
            """)
        #expect(output.disagreements?["title"] == ["title": "B"])
        #expect(output.disagreements?["description"] == ["description": "D"])
        #expect(output.disagreements?["canonical_url"] == ["og:url": "https://www.example.org/f"])
        #expect(output.disagreements?["author"] == ["dc.creator": "Charles Babbage"])
    }

    /// Jobs store the output as JSON, and sandboxes return it as JSON.
    @Test func outputComesBackFromJSON() throws {
        let output = try describe(
            """
            <script type="application/ld+json">{"a":[1,-2.5,1e300,true,false,null,"x",{},[]],"1":"2","":{"b":[[]]}}</script>
            """)
        #expect(output.jsonLD?.count == 1)
        #expect(try JSONDecoder().decode(DocumentMetadata.self, from: JSONEncoder().encode(output)) == output)
    }

    enum Flood: String, CaseIterable {
        case metas, graph, depth, items, lists

        var page: String {
            func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
            func each(_ count: Int, _ text: (Int) -> String) -> String { (0..<count).map(text).joined() }
            return switch self {
            case .metas: each(300) { "<meta property=\"og:x\($0)\" content=\"\(many("'/é", 1200))\">" }
            case .graph:
                "<script type=\"application/ld+json\">["
                    + each(3000) { "{\"a\($0)\":\"\(many("/", 90))\"}," } + "]</script>"
            case .depth: "<script type=\"application/ld+json\">" + many("{\"a\":", 40) + "1</script>"
            case .items: many("<div itemscope><b itemprop=x>\(many("y", 1000))</b></div>", 300)
            case .lists:
                "<title>\(many("t", 60000))</title><meta name=description content='\(many("d", 30000))'>"
                    + each(60) { "<meta name=author content='Ada \(many("z", 70))\($0)'>" }
                    + each(60) {
                        "<link rel='icon alternate' type=application/rss+xml sizes='\(many("9", 3000))' "
                            + "title='\(many("f", 3000))' href='/\($0)\(many("p", 1900))'>"
                    }
                    + each(60) {
                        "<meta property=og:image content='/\($0)\(many("i", 1900))'>"
                            + "<meta property=og:image:alt content='\(many("a", 20000))'>"
                    }
            }
        }
    }

    @Test(arguments: Flood.allCases)
    func outputIsFarSmallerThanAResultMayBe(flood: Flood) throws {
        let output = try describe(flood.page)
        let size = try JSONEncoder().encode(output).count
        #expect(size < 512 << 10, "\(size) bytes")
    }
}
