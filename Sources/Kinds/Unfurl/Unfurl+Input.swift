import Jobs

extension Unfurl {
    public struct Input: Codable, Sendable, Hashable {
        /// The link to resolve.
        public var url: String?
        /// 20 unless set.
        public var maxRedirects: Int?
        /// Whether the head of the final page is read, for its canonical address, its title and a meta refresh. True unless set.
        public var readPage: Bool?
        /// Milliseconds for the whole chain. 60,000 unless set.
        public var timeoutMs: Int64?

        public init(url: String? = nil, maxRedirects: Int? = nil, readPage: Bool? = nil, timeoutMs: Int64? = nil) {
            self.url = url
            self.maxRedirects = maxRedirects
            self.readPage = readPage
            self.timeoutMs = timeoutMs
        }

        enum CodingKeys: String, CodingKey {
            case url
            case maxRedirects = "max_redirects"
            case readPage = "read_page"
            case timeoutMs = "timeout_ms"
        }
    }

    public struct Output: Codable, Sendable, Hashable {
        /// Where the link leads.
        public var finalURL: String
        /// Of the final answer.
        public var status: Int
        public var contentType: String?
        /// What the final page calls its own address, when it is an http or https address.
        public var canonicalURL: String?
        /// The final address without its tracking parameters.
        public var cleanedURL: String
        public var title: String?
        /// Whether a redirect led from https to http.
        public var isDowngraded: Bool
        public var hops: [Hop]

        enum CodingKeys: String, CodingKey {
            case finalURL = "final_url"
            case status
            case contentType = "content_type"
            case canonicalURL = "canonical_url"
            case cleanedURL = "cleaned_url"
            case title, hops
            case isDowngraded = "downgraded"
        }
    }

    public static var inputFields: [InputField] {
        [
            InputField(
                "url", .string, schemes: InputField.webSchemes, isRequired: true, isFromDependency: true,
                summary: "Link to resolve (http or https)"),
            InputField(
                "max_redirects", .integer, range: 0...50, summary: "Redirects to follow; 20 unless set, at most 50"),
            InputField(
                "read_page", .boolean,
                summary:
                    "Read the head of the final page for canonical address, title and meta refresh; true unless set"),
            InputField(
                "timeout_ms", .integer, range: 1...Int64.max,
                summary: "Limit for the whole chain in milliseconds; 60000 unless set"),
        ]
    }

    public static func accept(_ value: Link, into input: inout Input) {
        if input.url == nil { input.url = value.url }
    }

    /// The final address.
    public static func offer(_ output: Output) -> Link { Link(url: output.finalURL) }
}

/// What an administrator sets for `unfurl`.
public struct UnfurlConfiguration: Sendable {
    /// Redirects followed when the input does not say. 20 unless set.
    public var maxRedirects = 20
    /// For a whole chain when the input does not say. 60 s unless set.
    public var timeout: Duration = .seconds(60)
    /// For one hop, from its turn at the host on. 15 s unless set.
    public var hopTimeout: Duration = .seconds(15)
    /// How long an answer serves again for the same link; failures at most 30 s, and only those that are final. 5 min unless set.
    public var keeps: Duration = .seconds(300)
    /// What is read of a final page, decoded. 256 KiB unless set.
    public var pageBytes = 256 << 10
    /// Parameters dropped from the cleaned address; those that are well known unless set.
    public var tracking = TrackingRules()
    /// Redirect pages that hold their target, besides those that are known.
    public var wrappers: [WrapperRule] = []

    public init() {}
}
