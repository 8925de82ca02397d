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

        public init(url: String? = nil, maxBytes: Int? = nil, maxRedirects: Int? = nil, timeoutMs: Int64? = nil) {
            self.url = url
            self.maxBytes = maxBytes
            self.maxRedirects = maxRedirects
            self.timeoutMs = timeoutMs
        }

        enum CodingKeys: String, CodingKey {
            case url
            case maxBytes = "max_bytes"
            case maxRedirects = "max_redirects"
            case timeoutMs = "timeout_ms"
        }
    }

    public static var inputFields: [InputField] {
        [
            InputField(
                "url", .string, isRequired: true, isFromDependency: true, summary: "Page to describe (http or https)"),
            InputField("max_bytes", .integer, summary: "Decoded bytes read of the page; 2097152 unless set"),
            InputField("max_redirects", .integer, summary: "Redirects to follow; 20 unless set, at most 50"),
            InputField("timeout_ms", .integer, summary: "Limit for all of it in milliseconds; 60000 unless set"),
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
