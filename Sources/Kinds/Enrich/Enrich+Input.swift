import Jobs

extension Enrich {
    public struct Input: Codable, Sendable, Hashable {
        /// The page.
        public var url: String?
        /// Decoded bytes that are read of it. 2 MiB unless set.
        public var maxBytes: Int?
        /// 20 unless set.
        public var maxRedirects: Int?
        /// Milliseconds for the whole of it. 60,000 unless set.
        public var timeoutMs: Int64?
        /// As an earlier output gave it: an unchanged page is then not sent again.
        public var etag: String?
        /// Likewise.
        public var lastModified: String?
        /// Whether to fetch the beginning of the page's picture for its size, where the page does not give it. True unless set.
        public var measuresImage: Bool?

        public init(
            url: String? = nil, maxBytes: Int? = nil, maxRedirects: Int? = nil, timeoutMs: Int64? = nil,
            etag: String? = nil,
            lastModified: String? = nil, measuresImage: Bool? = nil
        ) {
            self.url = url
            self.maxBytes = maxBytes
            self.maxRedirects = maxRedirects
            self.timeoutMs = timeoutMs
            self.etag = etag
            self.lastModified = lastModified
            self.measuresImage = measuresImage
        }

        enum CodingKeys: String, CodingKey {
            case url, etag
            case maxBytes = "max_bytes"
            case maxRedirects = "max_redirects"
            case timeoutMs = "timeout_ms"
            case lastModified = "last_modified"
            case measuresImage = "measure_image"
        }
    }

    public static var inputFields: [InputField] {
        [
            InputField(
                "url", .string, schemes: InputField.webSchemes, isRequired: true, isFromDependency: true,
                summary: "Page to describe (http or https)"),
            InputField(
                "max_bytes", .integer, range: 1...(2 << 20),
                summary: "Decoded bytes read of the page; 2097152 unless set, which is also the most"),
            InputField(
                "max_redirects", .integer, range: 0...50, summary: "Redirects to follow; 20 unless set, at most 50"),
            InputField(
                "timeout_ms", .integer, range: 1...Int64.max,
                summary: "Limit for all of it in milliseconds; 60000 unless set"),
            InputField("etag", .string, summary: "Of an earlier output: an unchanged page is not sent again"),
            InputField("last_modified", .string, summary: "Of an earlier output: an unchanged page is not sent again"),
            InputField(
                "measure_image", .boolean, summary: "Fetch the picture's beginning for its size; true unless set"),
        ]
    }

    public static func accept(_ value: Link, into input: inout Input) {
        if input.url == nil { input.url = value.url }
    }
}

/// What an administrator sets for `enrich`.
public struct EnrichConfiguration: Sendable {
    /// Decoded bytes of a page that are read; what follows is left out. 2 MiB unless set, and at most that.
    public var maxBytes = 2 << 20
    /// Bytes received for a page, before decoding. 4 MiB unless set.
    public var maxReceivedBytes = 4 << 20
    public var maxRedirects = 20
    /// For redirects and page together. 60 s unless set.
    public var timeout: Duration = .seconds(60)

    public init() {}
}
