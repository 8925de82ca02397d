import NIOHTTP1
import Pages
import Web

extension Enrich {
    /// The metadata of a document, and the response that contained it. In JSON, their fields form one object.
    @dynamicMemberLookup
    public struct Output: Codable, Sendable, Hashable {
        public var metadata: DocumentMetadata
        public var response: Response

        init(_ metadata: DocumentMetadata, of response: OutgoingResponse) {
            self.metadata = metadata
            self.response = Response(
                status: response.status, etag: response.headers["etag"].first,
                lastModified: response.headers["last-modified"].first)
        }

        public init(from decoder: any Decoder) throws {
            metadata = try DocumentMetadata(from: decoder)
            response = try Response(from: decoder)
        }

        public func encode(to encoder: any Encoder) throws {
            try metadata.encode(to: encoder)
            try response.encode(to: encoder)
        }

        /// A field of ``metadata``.
        public subscript<Value>(dynamicMember field: WritableKeyPath<DocumentMetadata, Value>) -> Value {
            get { metadata[keyPath: field] }
            set { metadata[keyPath: field] = newValue }
        }

        /// A field of ``response``.
        public subscript<Value>(dynamicMember field: WritableKeyPath<Response, Value>) -> Value {
            get { response[keyPath: field] }
            set { response[keyPath: field] = newValue }
        }
    }

    /// How a document was fetched.
    public struct Response: Codable, Sendable, Hashable {
        /// The HTTP status of the response.
        public var status: Int
        /// The response's `ETag`. If a later input passes it as `etag`, the server does not send an unchanged page
        /// again.
        public var etag: String?
        /// The response's `Last-Modified`, for the `last_modified` of a later input.
        public var lastModified: String?
        /// True if the server says that the page has not changed since the `etag` or `last_modified` in the input. The
        /// metadata is then empty.
        public var isUnchanged: Bool?
        /// True if the page's head contained all metadata, so that its body was not read.
        public var isHeadOnly: Bool?
        /// The requests that led to the page, each with the server's IP address, the HTTP version and the duration.
        public var hops: [Hop]?
        /// Whether the document is longer than the bytes that were read, because the rest was not needed or exceeds the limit.
        public var isTruncated: Bool = false

        enum CodingKeys: String, CodingKey {
            case status, etag, hops
            case lastModified = "last_modified"
            case isUnchanged = "unchanged"
            case isHeadOnly = "head_only"
            case isTruncated = "truncated"
        }
    }
}
