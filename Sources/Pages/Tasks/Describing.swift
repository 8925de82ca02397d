import WebSyntax

extension DocumentMetadata {
    /// Extracts the metadata of a document.
    ///
    /// - Parameters:
    ///   - contentType: The media type that the server sent; nil if it sent none.
    ///   - gap: The part of the document that is missing from `bytes`, if they are the two ends of a long PDF.
    init(of bytes: [UInt8], url: WebURL, contentType: String?, gap: Range<Int>? = nil) {
        self.init(url: "\(url)", contentType: contentType)
        self.bytes = bytes.count
        // A page may begin with an SVG drawing.
        let isCalledPage = contentType != nil && PageHead.isPage(contentType)
        if !Self.looksLikePage(bytes), let media = MediaFacts(bytes, gap: gap),
            !isCalledPage || media.contentType != "image/svg+xml"
        {
            take(media)
        } else if PageHead.isPage(contentType) {
            let page = Charset.decode(bytes, contentType: contentType)
            charset = page.name
            take(PageParser.parse(page.utf8), url: url)
        }
    }

    /// Whether the bytes begin with a tag of a page. This is checked before other formats, since a page may begin like
    /// another format, but no other format begins like a page.
    private static func looksLikePage(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = TagReader(UnsafeBufferPointer(rebasing: bytes.prefix(1024)))
            while let token = reader.next() {
                guard case .start(let name) = token else { continue }
                return (["html", "head", "body", "title", "meta", "div", "p"] as [HTMLName]).contains(name)
            }
            return false
        }
    }

    private mutating func take(_ media: MediaFacts) {
        contentType = contentType ?? media.contentType
        type = media.contentType == "application/pdf" ? "document" : String(media.contentType.prefix { $0 != "/" })
        (width, height, pages, title) = (media.width, media.height, media.pages, media.title)
        authors = media.authors.flatMap { $0.isEmpty ? nil : $0 }
        author = authors?.joined(separator: ", ")
        if type == "image" { image = url }
        for (field, isThere) in [
            ("width", width != nil), ("height", height != nil), ("pages", pages != nil), ("title", title != nil),
            ("author", author != nil), ("type", true), ("image", image != nil),
        ] where isThere {
            sources[field] = "file"
            confidence[field] = .high
        }
    }

    /// Whether the head alone determines every field: each one comes from a source in the head that outranks all
    /// sources in the body, and the sources of the title agree, so that no heading replaces it.
    package var saysAllInHead: Bool {
        let needed = [
            "title", "description", "image", "author", "published", "modified", "section", "tags", "language",
            "site_name",
            "type", "word_count",
        ]
        return disagreements?["title"] == nil && needed.allSatisfy { confidence[$0] == .high }
            && sources["author"] == "json-ld author" && sources["published"] == "json-ld datePublished"
    }

    private mutating func take(_ facts: PageFacts, url: WebURL) {
        var ranking = Ranking(facts, at: url)
        title = ranking.title()
        description = ranking.description()
        canonicalURL = ranking.firstURL(
            "canonical_url", [("link canonical", facts.link("canonical")?.href), ranking.meta("og:url")])
        language = ranking.language()
        siteName = ranking.siteName()
        type = ranking.type()
        authors = ranking.authors()
        author = authors?.joined(separator: ", ")
        published = ranking.published()
        modified = ranking.modified()
        section = ranking.first(
            "section",
            ranking.metas("article:section") + ranking.json("articleSection") + ranking.metas("parsely-section"))
        tags = ranking.tags()
        images = ranking.images()
        image = images?.first?.url
        video = ranking.video()
        audio = ranking.audio()
        icons = ranking.icons()
        icon = ranking.icon(of: icons)
        themeColor = ranking.first("theme_color", ranking.metas("theme-color", "msapplication-tilecolor"))
        feeds = ranking.feeds()
        oembed = ranking.oembed()
        license = ranking.license()
        isPaywalled = ranking.paywall()
        wordCount = ranking.words()
        manifest = facts.link("manifest").flatMap { ranking.absolute($0.href) }
        var raw = RawGroups()
        openGraph = raw.group("og:", "article:", "book:", "profile:", "music:", "video:", of: facts.metas) ?? [:]
        twitter = (raw.group("twitter:", of: facts.metas) ?? [:]).compactMapValues(\.first)
        dublinCore = raw.group("dc.", "dcterms.", of: facts.metas)
        citation = raw.group("citation_", of: facts.metas)
        jsonLD = raw.values(ranking.linked.roots)
        microdata = raw.values(ranking.items.roots)
        sources = ranking.sources
        confidence = sources.mapValues { Confidence(source: $0) }
        disagreements = ranking.disagreements.isEmpty ? nil : ranking.disagreements
    }
}
