import Testing
import WebSyntax

@testable import Pages

/// Each `meta` name that is a source of a field, alone on a page, and the names in JSON-LD and microdata.
@Suite struct SourceTests {
    private func describe(_ html: String) throws -> DocumentMetadata {
        DocumentMetadata(
            of: Array(html.utf8), url: try WebURL(parsing: "https://www.example.org/x"), contentType: "text/html")
    }

    private static let titles = [
        "og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title", "parsely-title", "sailthru.title",
    ]
    private static let descriptions = [
        "og:description", "description", "twitter:description", "dc.description", "dcterms.description",
        "dcterms.abstract",
        "citation_abstract", "sailthru.description",
    ]
    private static let authors = [
        "citation_author", "parsely-author", "sailthru.author", "author", "article:author", "dc.creator",
        "dcterms.creator", "byl",
        "article:author_name", "rbauthors",
    ]
    private static let published = [
        "article:published_time", "og:article:published_time", "datePublished", "parsely-pub-date", "sailthru.date",
        "article.published",
        "pubdate", "publishdate", "publish-date", "publish_date", "publication_date", "published-date",
        "published_time",
        "citation_publication_date", "citation_date", "citation_online_date", "DC.date.issued", "dcterms.issued",
        "dcterms.created",
        "dc.date.created", "dcterms.date", "dc.date", "dc.created", "cXenseParse:recs:publishtime", "rbpubdate",
        "ptime",
        "article:published", "og:pubdate", "date", "video:release_date", "music:release_date", "book:release_date",
        "og:release_date",
    ]
    private static let modified = [
        "article:modified_time", "og:updated_time", "dateModified", "last-modified", "dcterms.modified",
        "dc.date.modified",
        "revised", "article.updated", "lastmod", "utime",
    ]
    private static let siteNames = [
        "og:site_name", "application-name", "apple-mobile-web-app-title", "al:android:app_name", "al:ios:app_name",
        "publisher",
        "dc.publisher", "citation_journal_title",
    ]
    private static let images = [
        "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src", "thumbnail",
        "parsely-image-url", "sailthru.image.full", "msapplication-TileImage",
    ]

    @Test(arguments: titles) func titleOf(name: String) throws {
        try expect("title", "A story", \.title, name)
    }
    @Test(arguments: descriptions) func descriptionOf(name: String) throws {
        try expect("description", "In short", \.description, name)
    }
    @Test(arguments: authors) func authorOf(name: String) throws {
        try expect("author", "Ada Lovelace", \.author, name)
    }
    @Test(arguments: published) func publishedOf(name: String) throws {
        try expect("published", "2024-02-03", \.published, name)
    }
    @Test(arguments: modified) func modifiedOf(name: String) throws {
        try expect("modified", "2024-02-03", \.modified, name)
    }
    @Test(arguments: siteNames) func siteNameOf(name: String) throws {
        try expect("site_name", "The Rigger", \.siteName, name)
    }
    @Test(arguments: images) func imageOf(name: String) throws {
        try expect("image", "https://www.example.org/p.png", \.image, name, isSource: false)
    }
    @Test(arguments: ["og:video:secure_url", "og:video:url", "og:video", "twitter:player:stream"])
    func videoOf(name: String) throws { try expect("video", "https://v.example/v.mp4", \.video, name) }
    @Test(arguments: ["og:audio:secure_url", "og:audio:url", "og:audio"])
    func audioOf(name: String) throws { try expect("audio", "https://v.example/a.mp3", \.audio, name) }
    @Test(arguments: ["content-language", "og:locale", "dc.language", "language"])
    func languageOf(name: String) throws { try expect("language", "sv", \.language, name) }
    @Test(arguments: ["dcterms.license", "dc.rights.license"])
    func licenseOf(name: String) throws { try expect("license", "https://l.example/by", \.license, name) }
    @Test(arguments: ["article:section", "parsely-section"])
    func sectionOf(name: String) throws { try expect("section", "Rigging", \.section, name) }
    @Test(arguments: ["theme-color", "msapplication-TileColor"])
    func themeColorOf(name: String) throws { try expect("theme_color", "#fff", \.themeColor, name) }

    @Test(arguments: ["article:tag", "keywords", "news_keywords", "parsely-tags", "sailthru.tags"])
    func tagsOf(name: String) throws {
        #expect(try describe("<meta name='\(name)' content='rope, sail'>").tags == ["rope", "sail"])
    }

    /// Tests each attribute that can name a `meta`, alone on the page.
    private func expect(
        _ field: String, _ value: String, _ path: KeyPath<DocumentMetadata, String?>, _ name: String,
        isSource: Bool = true
    ) throws {
        for attribute in ["name", "property", "PROPERTY", "itemprop"] {
            let output = try describe("<meta \(attribute)='\(name)' content='\(value)'>")
            #expect(output[keyPath: path] == value, "\(attribute)=\(name)")
            if isSource { #expect(output.sources[field] == name.lowercased(), "\(attribute)=\(name)") }
            #expect(output.confidence[field] != nil)
        }
        #expect(try describe("<meta name='\(name)' content=''>")[keyPath: path] == nil, "\(name) is empty")
        #expect(try describe("<meta name='\(name)'>")[keyPath: path] == nil, "\(name) has no content")
    }

    /// Each schema.org property in JSON-LD, microdata and RDFa Lite.
    @Test(
        arguments: [
            ("headline", "A story"), ("description", "In short"), ("author", "Ada Lovelace"),
            ("datePublished", "2024-02-03"), ("dateModified", "2024-02-03"), ("image", "https://www.example.org/p.png"),
        ])
    func schemaProperty(name: String, value: String) throws {
        for page in [
            "<script type='application/ld+json'>{\"@type\":\"Article\",\"\(name)\":\"\(value)\"}</script>",
            "<div itemscope itemtype='https://schema.org/Article'><meta itemprop=\(name) content='\(value)'></div>",
            "<div vocab='https://schema.org/' typeof=Article><span property=\(name) content='\(value)'></span></div>",
        ] {
            let output = try describe(page)
            let found =
                switch name {
                case "headline": output.title
                case "description": output.description
                case "author": output.author
                case "datePublished": output.published
                case "dateModified": output.modified
                default: output.image
                }
            #expect(found == value, "\(page)")
        }
    }
}
