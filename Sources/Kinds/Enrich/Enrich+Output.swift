extension Enrich {
    /// What is known about a page. A field is there when the page says it; nothing is made up.
    public struct Output: Codable, Sendable, Hashable {
        /// The address that answered, after redirects.
        public var url: String
        public var status: Int
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
        public var author: String?
        /// ISO 8601.
        public var published: String?
        public var modified: String?
        /// Absolute address of the picture to show.
        public var image: String?
        public var icon: String?
        /// Every `og:`, `article:`, `book:`, `profile:`, `music:` and `video:` property, in order.
        public var openGraph: [String: [String]]
        public var twitter: [String: String]
        /// Which source each field above comes from.
        public var sources: [String: String]
        /// Decoded bytes that were read.
        public var bytes: Int
        /// Whether the page was longer than that.
        public var isTruncated: Bool

        enum CodingKeys: String, CodingKey {
            case url, status, charset, title, description, language, type, author, published, modified, image, icon,
                twitter,
                sources, bytes
            case contentType = "content_type"
            case canonicalURL = "canonical_url"
            case siteName = "site_name"
            case openGraph = "open_graph"
            case isTruncated = "truncated"
        }
    }
}
