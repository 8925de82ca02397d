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
        /// Which source each field above comes from.
        public var sources: [String: String] = [:]
        /// Other values that the page gives for title, author and dates, by source.
        public var disagreements: [String: [String: String]]?
        /// Decoded bytes that were read.
        public var bytes: Int = 0
        /// Whether the page was longer than that.
        public var isTruncated: Bool = false

        enum CodingKeys: String, CodingKey {
            case url, status, charset, title, description, language, type, author, authors, published, modified,
                section, tags,
                image, images, video, audio, icon, icons, feeds, oembed, license, width, height, pages, twitter,
                sources,
                disagreements, bytes
            case contentType = "content_type"
            case canonicalURL = "canonical_url"
            case siteName = "site_name"
            case themeColor = "theme_color"
            case isPaywalled = "paywalled"
            case wordCount = "word_count"
            case openGraph = "open_graph"
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
