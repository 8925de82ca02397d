/// The metadata of a page, picture or PDF. Optional fields are nil if the document does not state them; nothing is
/// made up.
public struct DocumentMetadata: Codable, Sendable, Hashable {
    /// The address of the document, after redirects.
    public var url: String
    /// The media type that the server sent; if it sent none, the type that the bytes show.
    public var contentType: String?
    /// The page's encoding, by its name in the Encoding standard.
    public var charset: String?
    public var title: String?
    public var description: String?
    /// The address that the page declares as its own.
    public var canonicalURL: String?
    /// The language as a BCP 47 tag.
    public var language: String?
    public var siteName: String?
    /// The type of a page as in `og:type`: `article`, `website`, `video.other`, …. For other files the kind of
    /// file: `image`, `video`, `audio`, `document` (PDF), ….
    public var type: String?
    /// All authors, joined with commas.
    public var author: String?
    public var authors: [String]?
    /// The publication date in ISO 8601, with time and time zone only if the page states them.
    public var published: String?
    /// The date of the last change, in the same form as ``published``.
    public var modified: String?
    /// The section of the site that the page belongs to.
    public var section: String?
    public var tags: [String]?
    /// The absolute address of the picture that represents the page.
    public var image: String?
    /// All pictures that the page offers to represent it, best first.
    public var images: [Picture]?
    /// The absolute address of the page's video.
    public var video: String?
    /// The absolute address of the page's audio.
    public var audio: String?
    /// The absolute address of the site's largest icon.
    public var icon: String?
    public var icons: [Icon]?
    /// The address of the web application manifest, which names more icons.
    public var manifest: String?
    /// The site's theme color, in CSS syntax.
    public var themeColor: String?
    /// The RSS, Atom and JSON feeds that the page links to.
    public var feeds: [Feed]?
    /// The page's oEmbed endpoints.
    public var oembed: [Feed]?
    /// The absolute address of the page's license.
    public var license: String?
    /// Whether the page is behind a paywall; nil if the page does not say.
    public var isPaywalled: Bool?
    /// The number of words, as the page states it or as counted in its paragraphs.
    public var wordCount: Int?
    /// The width of an image in pixels.
    public var width: Int?
    /// The height of an image in pixels.
    public var height: Int?
    /// The number of pages of a PDF.
    public var pages: Int?
    /// All `og:`, `article:`, `book:`, `profile:`, `music:` and `video:` properties, with the values of each in
    /// page order.
    public var openGraph: [String: [String]] = [:]
    /// All `twitter:` properties; the first value of each.
    public var twitter: [String: String] = [:]
    /// All Dublin Core names (`dc.` and `dcterms.`), with the values of each in page order.
    public var dublinCore: [String: [String]]?
    /// All `citation_` names, with the values of each in page order.
    public var citation: [String: [String]]?
    /// The page's JSON-LD, as written.
    public var jsonLD: [JSONValue]?
    /// The page's microdata and RDFa Lite, in the form of JSON-LD.
    public var microdata: [JSONValue]?
    /// The source of each field above, by the field's JSON name.
    public var sources: [String: String] = [:]
    /// The reliability of each field above, by the field's JSON name.
    public var confidence: [String: Confidence] = [:]
    /// Other values that the page states for title, description, author, dates and canonical address, by field and
    /// source.
    public var disagreements: [String: [String: String]]?
    /// The number of decoded bytes that were read.
    public var bytes: Int = 0

    enum CodingKeys: String, CodingKey {
        case url, charset, title, description, language, type, author, authors, published, modified
        case section, tags, image, images, video, audio, icon, icons, manifest, feeds, oembed, license
        case width, height, pages, twitter, citation, microdata, sources, confidence, disagreements, bytes
        case contentType = "content_type"
        case canonicalURL = "canonical_url"
        case siteName = "site_name"
        case themeColor = "theme_color"
        case isPaywalled = "paywalled"
        case wordCount = "word_count"
        case openGraph = "open_graph"
        case dublinCore = "dublin_core"
        case jsonLD = "json_ld"
    }

    package init(url: String, contentType: String? = nil) {
        self.url = url
        self.contentType = contentType
    }

    /// A picture that represents a page.
    public struct Picture: Codable, Sendable, Hashable {
        public var url: String
        public var width: Int?
        public var height: Int?
        /// The alternative text.
        public var alt: String?
        public var type: String?
    }

    /// An icon of a site.
    public struct Icon: Codable, Sendable, Hashable {
        public var url: String
        /// The link type: `icon`, `apple-touch-icon` or `mask-icon`.
        public var rel: String
        /// The sizes in pixels as in HTML: `32x32`, several of these, or `any`.
        public var sizes: String?
        public var type: String?
    }

    /// A feed or an oEmbed endpoint.
    public struct Feed: Codable, Sendable, Hashable {
        public var url: String
        public var type: String?
        public var title: String?
    }
}
