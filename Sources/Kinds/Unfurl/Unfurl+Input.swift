import Jobs
import Web

extension Unfurl {
    /// The input of an `unfurl` job.
    public struct Input: Codable, Sendable, Hashable {
        /// The link to resolve; required unless a dependency supplies it.
        public var url: String?
        /// The maximum number of redirects to follow, 0 to 50. Default: the configuration's, normally 20.
        public var maxRedirects: Int?
        /// Whether to read the head of the final page for its canonical address, its title and a meta refresh. Default:
        /// true.
        public var readPage: Bool?
        /// The time limit for the whole chain. Default: the configuration's, normally 60 s.
        public var timeout: HumanDuration?

        public init(url: String? = nil, maxRedirects: Int? = nil, readPage: Bool? = nil, timeout: Duration? = nil) {
            self.url = url
            self.maxRedirects = maxRedirects
            self.readPage = readPage
            self.timeout = timeout.map(HumanDuration.init)
        }

        enum CodingKeys: String, CodingKey {
            case url, timeout
            case maxRedirects = "max_redirects"
            case readPage = "read_page"
        }
    }

    /// The result of an `unfurl` job.
    public struct Output: Codable, Sendable, Hashable {
        /// The address that the link leads to.
        public var finalURL: String
        /// The HTTP status of the final response.
        public var status: Int
        /// The final response's `Content-Type`.
        public var contentType: String?
        /// The address that the final page declares as its own, if it is an http or https address.
        public var canonicalURL: String?
        /// The final address without its tracking parameters.
        public var cleanedURL: String
        /// The final page's title; nil if it has none or was not read.
        public var title: String?
        /// Whether a redirect led from https to http.
        public var isDowngraded: Bool
        /// All steps in order, including the final one.
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
                "max_redirects", .integer, range: 0...50, summary: "Maximum number of redirects, up to 50; default: 20"),
            InputField(
                "read_page", .boolean,
                summary:
                    "Read the head of the final page for its canonical address, title and meta refresh; default: true"),
            InputField(
                "timeout", .duration, range: 1...Int64.max,
                summary: "Time limit for the whole chain of redirects; default: 60s"),
        ]
    }

    public static func accept(_ value: Link, into input: inout Input) {
        if input.url == nil { input.url = value.url }
    }

    /// Returns the final address, as the input of dependent jobs.
    public static func offer(_ output: Output) -> Link { Link(url: output.finalURL) }
}

/// The administrator's settings for `unfurl`.
public struct UnfurlConfiguration: Sendable {
    /// The maximum number of redirects to follow if the input does not set it.
    public var maxRedirects = 20
    /// The time limit for a whole chain if the input does not set it.
    public var timeout: Duration = .seconds(60)
    /// The time limit for one hop. It starts when the host's limits allow the request.
    public var hopTimeout: Duration = .seconds(15)
    /// How long a result is reused for the same link. Failures that a retry cannot solve are reused for at most 30 s,
    /// other failures never.
    public var keeps: Duration = .seconds(300)
    /// The maximum number of decoded bytes to read of the final page.
    public var pageBytes = 256 << 10
    /// The query parameters to remove from the cleaned address. Default: the well-known ones.
    public var tracking = TrackingRules()
    /// Redirect pages whose address contains the target, in addition to the known ones.
    public var wrappers: [WrapperRule] = []

    public init() {}
}
