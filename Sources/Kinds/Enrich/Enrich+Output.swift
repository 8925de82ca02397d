extension Enrich {
    /// What is known about a page. A field is there when the page says it; nothing is made up.
    public struct Output: Codable, Sendable, Hashable {
        /// The address that answered, after redirects.
        public var url: String
        public var status: Int = 200
        /// As the server names it; what the bytes show when the server names none.
        public var contentType: String?
        /// By the Encoding standard's names.
        public var charset: String?
        public var title: String?
        public var description: String?
        public var canonicalURL: String?
        /// A BCP 47 tag.
        public var language: String?
        public var siteName: String?
        /// As in `og:type`: `article`, `website`, `video.other`, …
        public var type: String?
        /// All authors in one line.
        public var author: String?
        public var authors: [String]?
        /// ISO 8601, with time and zone only where the page gives them.
        public var published: String?
        public var modified: String?
        public var section: String?
        public var tags: [String]?
        /// Absolute address of the picture to show.
        public var image: String?
        public var images: [Picture]?
        public var video: String?
        public var audio: String?
        public var icon: String?
        public var icons: [Icon]?
        /// Address of the web application manifest, which names more icons.
        public var manifest: String?
        /// A CSS colour.
        public var themeColor: String?
        public var feeds: [Feed]?
        /// oEmbed endpoints of this page.
        public var oembed: [Feed]?
        public var license: String?
        /// True when the page says that reading it costs.
        public var isPaywalled: Bool?
        public var wordCount: Int?
        /// Of an image, in pixels.
        public var width: Int?
        public var height: Int?
        /// Of a PDF.
        public var pages: Int?
        /// Every `og:`, `article:`, `book:`, `profile:`, `music:` and `video:` property, in order.
        public var openGraph: [String: [String]] = [:]
        public var twitter: [String: String] = [:]
        /// Dublin Core: every `dc.` and `dcterms.` name, in order.
        public var dublinCore: [String: [String]]?
        /// Every `citation_` name, in order.
        public var citation: [String: [String]]?
        /// JSON-LD, as the page gives it.
        public var jsonLD: [JSONValue]?
        /// Microdata and RDFa Lite, in the shape of JSON-LD.
        public var microdata: [JSONValue]?
        /// Which source each field above comes from.
        public var sources: [String: String] = [:]
        /// How sure each of those fields is.
        public var confidence: [String: Confidence] = [:]
        /// Other values that the page gives for title, description, author, dates and canonical address, by source.
        public var disagreements: [String: [String: String]]?
        /// For the next time: give it as the input's `etag`, and an unchanged page is not sent again.
        public var etag: String?
        /// Likewise.
        public var lastModified: String?
        /// True when the server says that the page is still the one with the given `etag` or `last_modified`; then nothing
        /// else is known about it.
        public var isUnchanged: Bool?
        /// True when the page's head said all that is asked for, and its body was not waited for.
        public var isHeadOnly: Bool?
        /// Each request that led to the page, with the address that answered, the version of HTTP and the time it took.
        public var hops: [Hop]?
        /// Decoded bytes that were read.
        public var bytes: Int = 0
        /// Whether the page was longer than that, its end not being wanted or beyond the limit.
        public var isTruncated: Bool = false

        enum CodingKeys: String, CodingKey {
            case url, status, charset, title, description, language, type, author, authors, published, modified
            case section, tags, image, images, video, audio, icon, icons, manifest, feeds, oembed, license
            case width, height, pages, twitter, citation, microdata, sources, confidence, disagreements, etag, hops,
                bytes
            case contentType = "content_type"
            case canonicalURL = "canonical_url"
            case siteName = "site_name"
            case themeColor = "theme_color"
            case isPaywalled = "paywalled"
            case wordCount = "word_count"
            case openGraph = "open_graph"
            case dublinCore = "dublin_core"
            case jsonLD = "json_ld"
            case lastModified = "last_modified"
            case isUnchanged = "unchanged"
            case isHeadOnly = "head_only"
            case isTruncated = "truncated"
        }
    }

    public struct Picture: Codable, Sendable, Hashable {
        public var url: String
        public var width: Int?
        public var height: Int?
        public var alt: String?
        public var type: String?
    }

    public struct Icon: Codable, Sendable, Hashable {
        public var url: String
        /// `icon`, `apple-touch-icon` or `mask-icon`.
        public var rel: String
        /// As in `32x32`, or `any`.
        public var sizes: String?
        public var type: String?
    }

    public struct Feed: Codable, Sendable, Hashable {
        public var url: String
        public var type: String?
        public var title: String?
    }
}
