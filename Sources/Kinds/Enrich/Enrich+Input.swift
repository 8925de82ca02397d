import Jobs

extension Enrich {
    /// The input of an `enrich` job.
    public struct Input: Codable, Sendable, Hashable {
        /// The address of the page; required unless a dependency supplies it.
        public var url: String?
        /// The maximum size of the decoded page to read, 1 byte to 2 MiB. If the configuration's limit is lower, it
        /// applies. Default: the configuration's, normally 2 MiB.
        public var maxSize: ByteSize?
        /// The maximum number of redirects to follow, 0 to 50. Default: the configuration's, normally 20.
        public var maxRedirects: Int?
        /// The time limit for redirects and page together. Default: the configuration's, normally 60 s.
        public var timeout: HumanDuration?
        /// The `etag` of an earlier output. The server then does not send an unchanged page again.
        public var etag: String?
        /// The `last_modified` of an earlier output, with the same effect as ``etag``.
        public var lastModified: String?
        /// Whether to fetch the beginning of the page's picture to learn its size, if the page does not state it.
        /// Default: true.
        public var measuresImage: Bool?

        public init(
            url: String? = nil, maxSize: ByteSize? = nil, maxRedirects: Int? = nil, timeout: Duration? = nil,
            etag: String? = nil, lastModified: String? = nil, measuresImage: Bool? = nil
        ) {
            self.url = url
            self.maxSize = maxSize
            self.maxRedirects = maxRedirects
            self.timeout = timeout.map(HumanDuration.init)
            self.etag = etag
            self.lastModified = lastModified
            self.measuresImage = measuresImage
        }

        enum CodingKeys: String, CodingKey {
            case url, etag, timeout
            case maxSize = "max_size"
            case maxRedirects = "max_redirects"
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
                "max_size", .size, range: 1...(2 << 20),
                summary: "Maximum size of the decoded page to read; default and maximum: 2MiB"),
            InputField(
                "max_redirects", .integer, range: 0...50, summary: "Maximum number of redirects, up to 50; default: 20"),
            InputField(
                "timeout", .duration, range: 1...Int64.max,
                summary: "Time limit for the redirects and the page; default: 60s"),
            InputField("etag", .string, summary: "ETag from an earlier output; an unchanged page is not sent again"),
            InputField(
                "last_modified", .string, summary: "Date from an earlier output; an unchanged page is not sent again"),
            InputField(
                "measure_image", .boolean, summary: "Fetch the beginning of the picture to find its size; default: true"
            ),
        ]
    }

    public static func accept(_ value: Link, into input: inout Input) {
        if input.url == nil { input.url = value.url }
    }
}

/// The administrator's settings for `enrich`.
public struct EnrichConfiguration: Sendable {
    /// The maximum number of decoded bytes to read of a page. The rest is ignored. An input can only lower it. Default:
    /// 2 MiB. A sandbox reads at most 32 MiB.
    public var maxBytes = 2 << 20
    /// The maximum number of bytes to receive for a page, before decoding. Default: 4 MiB.
    public var maxReceivedBytes = 4 << 20
    /// The maximum number of redirects to follow if the input does not set it. Default: 20.
    public var maxRedirects = 20
    /// The time limit for redirects and page together, if the input does not set it.
    public var timeout: Duration = .seconds(60)

    public init() {}
}
