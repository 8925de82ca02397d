import Testing
import WebSyntax

@testable import Pages

/// Every source of every field, and its possible errors, on small pages.
@Suite struct FieldTests {
    private func describe(_ html: String, url: String = "https://www.example.org/story/1") throws -> DocumentMetadata {
        DocumentMetadata(of: Array(html.utf8), url: try WebURL(parsing: url), contentType: "text/html")
    }

    private func json(_ text: String) -> String { "<script type=\"application/ld+json\">\(text)</script>" }

    @Test(
        arguments: [
            #"{"@type":"NewsArticle","headline":"H","author":{"@type":"Person","name":"Ada"},"datePublished":"2024-02-03"}"#,
            #"[{"@type":"WebSite","name":"S"},{"@type":["Thing","BlogPosting"],"headline":"H","author":["Ada"],"datePublished":"2024-02-03"}]"#,
            #"{"@graph":[{"@type":"WebPage"},{"@type":"Article","headline":"H","author":{"@id":"_:a"},"datePublished":"2024-02-03"},{"@id":"_:a","@type":"Person","name":"Ada"}]}"#,
            #"//<![CDATA[\n{"@type":"Article","headline":"H","author":[{"name":"Ada"}],"datePublished":"2024-02-03",}//]]>"#,
            #"{"@type":"http://schema.org/Article", /* c */ "headline":"H", "author":{"name":["Ada"]}, "datePublished":"2024-02-03"};"#,
            #"<!-- {"@type":"Article","headline":"H","author":"Ada","datePublished":"2024-02-03"} -->"#,
            "{\"@type\":\"Article\",\"articleBody\":\"line\nbreak\ttab\",\"headline\":\"H\",\"author\":\"Ada\",\"datePublished\":\"2024-02-03\"}",
            #"{"@type":"WebPage","mainEntity":{"@type":"Article","headline":"H","author":"Ada","datePublished":"2024-02-03"}}"#,
            // The text before an error is kept.
            #"{"@type":"Article","headline":"H","author":"Ada","datePublished":"2024-02-03","broken":"#,
            #"{"@type":"Article","headline":"H","author":"Ada","datePublished":"2024-02-03","broken":}}{{"x" "y""#,
            #"{"@type":"Article","description":"She said "no", and left "him"","headline":"H","author":"Ada","datePublished":"2024-02-03"}"#,
            #"{"@type":"Article","keywords":["a "b" c", true],"headline":"H","author":"Ada","datePublished":"2024-02-03"}"#,
            #"{"@type":"Article","position":NaN,"x":Infinity,headline:"H",author:"Ada","datePublished":"2024-02-03"}"#,
            "{&quot;@type&quot;:&quot;Article&quot;,&quot;headline&quot;:&quot;H&quot;,&quot;author&quot;:&quot;Ada&quot;,&quot;datePublished&quot;:&quot;2024-02-03&quot;}",
        ])
    func linkedDataIsReadAsPagesWriteIt(text: String) throws {
        let output = try describe(json(text))
        #expect(output.title == "H")
        #expect(output.author == "Ada")
        #expect(output.published == "2024-02-03")
        #expect(output.type == "article")
    }

    @Test func ownerOfASiteOfOnesOwnIsItsAuthor() throws {
        let page =
            "<h1>A story</h1><p>It goes on.</p><div id=footer><p>Copyright (c) 2012- Ada Lovelace. All rights reserved.</p></div>"
        let own = try describe(page, url: "https://www.ada-lovelace.example/2012/03/04/story")
        #expect(own.author == "Ada Lovelace")
        #expect(own.sources["author"] == "copyright")
        #expect(try describe(page, url: "https://lovelace-press.example/2012/03/04/story").author == nil)
        // A shop is not an author.
        let shop = "<h1>Lamp</h1><p>It shines.</p><footer><p>© 2024 Best Buy. All rights reserved.</p></footer>"
        #expect(try describe(shop, url: "https://www.bestbuy.example/lamp").author == nil)
        let named = "<meta property=og:site_name content=\"Best Buy\">" + shop
        #expect(try describe(named, url: "https://www.bestbuy.example/2024/01/02/news").author == nil)
    }

    @Test func brokenScriptDoesNotSpoilTheNextOne() throws {
        let output = try describe(
            json(#"{"@type":"Article","headline":}"#) + json("{") + json(#"{"@type":"Article","headline":"H"}"#))
        #expect(output.title == "H")
    }

    @Test func microdataAndRDFaAreRead() throws {
        let micro = try describe(
            """
            <article itemscope itemtype="https://schema.org/BlogPosting"><h1 itemprop="headline">The <b>story</b></h1>
            <span itemprop="author" itemscope itemtype="https://schema.org/Person">By <a itemprop="url name" href="/ada">Ada Lovelace</a></span>
            <time itemprop="datePublished" datetime="2024-02-03T04:05:06+01:00">yesterday</time>
            <meta itemprop="dateModified" content="2024-02-04"><img itemprop="image" src="/p.jpg">
            <div itemprop="comment" itemscope itemtype="https://schema.org/Comment"><span itemprop="author">Troll</span></div></article>
            """)
        #expect(micro.title == "The story")
        #expect(micro.published == "2024-02-03T04:05:06+01:00")
        #expect(micro.image == "https://www.example.org/p.jpg")
        let lite = try describe(
            """
            <div vocab="https://schema.org/" typeof="Article"><h2 property="headline">H</h2>
            <span property="author" typeof="Person"><span property="name">Ada Lovelace</span></span></div>
            """)
        #expect(lite.title == "H")
        #expect(lite.author == "Ada Lovelace")
        #expect(lite.sources["author"] == "microdata author")
    }

    @Test(
        arguments: [
            ("<meta name=author content='Ada Lovelace'>", "Ada Lovelace"),
            ("<meta name=author content='By Ada Lovelace and Charles Babbage'>", "Ada Lovelace, Charles Babbage"),
            ("<meta name=author content='Ada Lovelace, Charles Babbage'>", "Ada Lovelace, Charles Babbage"),
            (
                "<meta name=citation_author content='Lovelace, Ada'><meta name=citation_author content='Babbage, C.'>",
                "Lovelace, Ada, Babbage, C."
            ),
            (
                "<meta property=article:author content='https://facebook.com/ada'><a rel=author href=/a>Ada Lovelace</a>",
                "Ada Lovelace"
            ),
            ("<div class=byline>Von Ada Lovelace | 3. Februar</div>", "Ada Lovelace"),
            ("<span class='post-author'>Posted by Ada Lovelace on May 3</span>", "Ada Lovelace"),
            ("<span class=submitted>Submitted on Mon, 2019-01-21 13:49</span>", nil),
            ("<div class=comments><span class=author>Troll</span></div>", nil),
            ("<aside><a rel=author>Troll</a></aside>", nil),
            ("<span class=author>By</span>", nil), ("<meta name=author content='admin'>", nil),
            ("<meta name=author content='&amp;Eacute;mile'>", "Émile"),
        ] as [(String, String?)])
    func authorsAreTakenOutOfTheirLines(html: String, author: String?) throws {
        #expect(try describe(html).author == author)
    }

    @Test(
        arguments: [
            ("<title>Story | Site</title><meta property=og:site_name content=Site>", "Story", "Site"),
            ("<title>Story - Example</title>", "Story", "Example"),
            ("<meta property=og:site_name content=Site><title>A story -- Site</title>", "A story", "Site"),
            ("<meta property=og:site_name content=Site><title>A story | Site Politics</title>", "A story", "Site"),
            ("<meta property=og:site_name content=BBC><title>故事 - BBC中文网</title>", "故事", "BBC"),
            ("<meta property=og:site_name content=Site><title>A story - Site - Politics</title>", "A story", "Site"),
            (
                "<meta property=og:site_name content=GitLab><title>Why we moved - GitLab Runner - part 2</title>",
                "Why we moved - GitLab Runner - part 2", "GitLab"
            ),
            (
                "<title>Price &#128;5 &copy 2024 R&eacute sum&eacute; &#x93;x&#x94; a&copy=b</title>",
                "Price €5 © 2024 Ré sumé “x” a&copy=b", nil
            ),
            (
                "<meta property=og:site_name content=Site><title>A story - Site and sound</title>",
                "A story - Site and sound", "Site"
            ),
            ("<title>Example: Story</title>", "Example: Story", nil),
            ("<title>Story - Part 2</title>", "Story - Part 2", nil),
            ("<title>Story - Part 2</title><h1>Story</h1>", "Story", nil),
            ("<title>A</title><svg><title>B</title></svg>", "A", nil),
            ("<title>A</title><meta property=og:title content=\"B><p>and all that follows", "A", nil),
            ("<title></title><h1>Only <br>head</h1>", "Only head", nil),
            ("<title>\n  Two\n lines </title>", "Two lines", nil),
            ("<TITLE>Caf&eacute; &amp; Bar</TITLE>", "Café & Bar", nil),
            ("<body><p>x<title>Late</title>", "Late", nil), ("<title>Cut at the end", "Cut at the end", nil),
            ("<meta property='og:title' content=''><title>Full</title>", "Full", nil),
        ] as [(String, String, String?)])
    func titleIsThePagesOwn(html: String, title: String, site: String?) throws {
        let output = try describe(html)
        #expect(output.title == title)
        #expect(output.siteName == site)
    }

    @Test func disagreementIsKept() throws {
        let output = try describe("<meta property=og:title content=Social><title>Real</title>")
        #expect(output.title == "Social")
        #expect(output.disagreements?["title"]?["title"] == "Real")
    }

    @Test func picturesKeepTheirOwnProperties() throws {
        let output = try describe(
            """
            <meta property=og:image content=/a.jpg><meta property=og:image:width content=1200><meta property=og:image:alt content=Alt>
            <meta property=og:image content=/b.jpg><meta property=og:image:width content=600px><meta name=twitter:image content=/a.jpg>
            <meta property=og:image content=/img/spacer.gif><meta property=og:image content='data:image/png;base64,AA'>
            """)
        #expect(
            output.images == [
                DocumentMetadata.Picture(url: "https://www.example.org/a.jpg", width: 1200, alt: "Alt"),
                DocumentMetadata.Picture(url: "https://www.example.org/b.jpg", width: 600),
            ])
    }

    @Test func linksAreGathered() throws {
        let output = try describe(
            """
            <link rel="alternate" type="application/rss+xml" title=News href=/feed><link rel=alternate type="application/json+oembed" href=/o?x>
            <link rel=icon sizes="16x16 32x32" href=/i.png><link rel=apple-touch-icon sizes=180x180 href=/t.png><link rel=license href=/l>
            <link rel=canonical href=https://example.org/c#x><meta name=theme-color content="#fff"><meta name=keywords content="a, b,a">
            <html lang=en_us>
            """)
        #expect(output.feeds?.first?.url == "https://www.example.org/feed")
        #expect(output.oembed?.first?.url == "https://www.example.org/o?x")
        #expect(output.icon == "https://www.example.org/t.png")
        #expect(output.icons?.count == 2)
        #expect(output.license == "https://www.example.org/l")
        #expect(output.canonicalURL == "https://example.org/c#x")
        #expect(output.themeColor == "#fff")
        #expect(output.tags == ["a", "b"])
        #expect(output.language == "en-US")
    }

    @Test(
        arguments: [
            ("2024-02-03", "2024-02-03"), ("2024-02-03T04:05:06Z", "2024-02-03T04:05:06Z"),
            ("2024-02-03T04:05:06.789+0100", "2024-02-03T04:05:06+01:00"),
            ("2024-02-03 04:05", "2024-02-03T04:05:00"), ("20240203", "2024-02-03"),
            ("20240203T040506Z", "2024-02-03T04:05:06Z"), ("20240203T0405+0100", "2024-02-03T04:05:00+01:00"),
            ("20240203T256161", "2024-02-03"), ("Sat, 03 Feb 2024 04:05:06 GMT", "2024-02-03T04:05:06Z"),
            ("Sat, 03 Feb 2024 04:05:06 EST", "2024-02-03T04:05:06-05:00"),
            ("February 3, 2024", "2024-02-03"), ("Feb 3rd, 2024 at 4:05 PM", "2024-02-03T16:05:00"),
            ("3. Februar 2024, 04:05 Uhr", "2024-02-03T04:05:00"),
            ("3 février 2024", "2024-02-03"), ("03.02.2024", "2024-02-03"), ("25/12/2024", "2024-12-25"),
            ("12/25/2024", "2024-12-25"), ("03/02/2024", nil),
            ("1706933106", "2024-02-03T04:05:06Z"), ("1706933106789", "2024-02-03T04:05:06Z"), ("2024-02-30", nil),
            ("2024-13-01", nil), ("0001-01-01", nil),
            ("yesterday", nil), ("", nil), ("12:30", nil), ("May", nil), ("2024", nil), ("99999999999999999999", nil),
        ] as [(String, String?)])
    func dateOfTheWildBecomesISO(text: String, expected: String?) { #expect(WildDate.iso(text) == expected) }

    @Test func dateMayStandInTheAddress() throws {
        let output = try describe("<title>x</title>", url: "https://example.org/2024/02/03/story")
        #expect(output.published == "2024-02-03")
        #expect(output.sources["published"] == "url")
        #expect(try describe("<title>x</title>", url: "https://example.org/1234/5/6").published == nil)
    }

    @Test func filesThatAreNoPagesGiveTheirFacts() throws {
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [
                0, 0, 1, 0, 0, 0, 0, 64,
            ]
        let gif = Array("GIF89a".utf8) + [10, 0, 20, 0]
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC2, 0, 11, 8, 0, 100, 0, 200]
        let webp = Array("RIFF0000WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 49, 0, 0]
        let avif =
            [0, 0, 0, 24] + Array("ftypavif".utf8) + Array(repeating: 0, count: 8) + Array("ispe".utf8) + [
                0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0,
            ]
        let ico: [UInt8] = [0, 0, 1, 0, 1, 0, 32, 48, 0, 0]
        let svg = Array("<?xml version='1.0'?><!-- c --><svg xmlns='x' viewBox='0 0 30 40'>".utf8)
        for (bytes, type, width, height) in [
            (png, "image/png", 256, 64), (gif, "image/gif", 10, 20), (jpeg, "image/jpeg", 200, 100),
            (webp, "image/webp", 100, 50),
            (avif, "image/avif", 512, 256), (ico, "image/x-icon", 32, 48), (svg, "image/svg+xml", 30, 40),
        ] {
            let output = DocumentMetadata(of: bytes, url: try WebURL(parsing: "https://h/x"), contentType: nil)
            #expect(output.contentType == type)
            #expect(output.width == width && output.height == height, "\(type)")
            // Truncated input never traps.
            for count in bytes.indices { _ = MediaFacts(Array(bytes[..<count])) }
        }
        let pdf = Array(
            """
            %PDF-1.7
            1 0 obj<</Type/Pages/Count 12/Kids[]>>endobj
            2 0 obj<</Title(A \\(b\\) c)/Author<FEFF00C9006D>>>endobj
            3 0 obj<</Type/Catalog/Pages 1 0 R>>endobj
            xref 1 3 9 0 n 54 0 n 110 0 n
            trailer<</Root 3 0 R/Info 2 0 R>>
            startxref 153
            """.utf8)
        let output = DocumentMetadata(
            of: pdf, url: try WebURL(parsing: "https://h/x.pdf"), contentType: "application/pdf")
        #expect(output.pages == 12)
        #expect(output.title == "A (b) c")
        #expect(output.author == "Ém")
    }
}
