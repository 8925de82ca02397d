import Jobs

extension Upload {
    public struct Input: Codable, Sendable, Hashable {
        public enum Method: String, Codable, Sendable, CaseIterable {
            case put = "PUT"
            case post = "POST"
        }

        /// An absolute path beneath an allowed folder, or `spool:NAME`.
        public var file: String?
        /// Where it goes: an http or https address.
        public var to: String
        /// PUT unless set.
        public var method: Method?
        /// By the file's name unless set; `application/json` for a dependency's output.
        public var contentType: String?
        /// Names whose secret is sent as `Authorization`.
        public var credential: String?
        public var headers: [String: String]?
        /// Milliseconds for the whole exchange; no limit unless set, beyond that of the attempt.
        public var timeoutMs: Int64?
        /// What is sent when there is no `file`.
        public var body: String?

        public init(
            file: String? = nil, to: String, method: Method? = nil, contentType: String? = nil,
            credential: String? = nil,
            headers: [String: String]? = nil, timeoutMs: Int64? = nil, body: String? = nil
        ) {
            self.file = file
            self.to = to
            self.method = method
            self.contentType = contentType
            self.credential = credential
            self.headers = headers
            self.timeoutMs = timeoutMs
            self.body = body
        }

        enum CodingKeys: String, CodingKey {
            case file, to, method, credential, headers, body
            case contentType = "content_type"
            case timeoutMs = "timeout_ms"
        }
    }

    /// The receipt.
    public struct Output: Codable, Sendable, Hashable {
        /// Sent, and confirmed by the server's status.
        public var bytes: Int64
        /// Of what was sent, in hexadecimal.
        public var sha256: String
        public var status: Int
        public var etag: String?
        /// Where the server says it is, absolute.
        public var location: String?
        /// The IP address that took it.
        public var address: String
        public var durationMs: Int64
        /// Whether the server named a digest of what it stored; one that differs is a failure.
        public var isChecksumConfirmed: Bool

        enum CodingKeys: String, CodingKey {
            case bytes, sha256, status, etag, location, address
            case durationMs = "duration_ms"
            case isChecksumConfirmed = "checksum_confirmed"
        }
    }

    public static var inputFields: [InputField] {
        [
            InputField(
                "file", .string, summary: "Absolute path of the file beneath an allowed folder, or spool:NAME"),
            InputField("to", .string, isRequired: true, summary: "Address to send it to (http or https)"),
            InputField(
                "method", .string, choices: Input.Method.allCases.map(\.rawValue),
                summary: "HTTP method; PUT unless set"),
            InputField("content_type", .string, summary: "Media type; by the file's name unless set"),
            InputField("credential", .string, summary: "Name of the credential that is sent as Authorization"),
            InputField("headers", .object, summary: "More headers, name to value"),
            InputField(
                "timeout_ms", .integer, summary: "Limit for the whole exchange in milliseconds; none unless set"),
            InputField(
                "body", .string, isFromDependency: true,
                summary: "Text to send in place of a file; from a dependency: its output as JSON"),
        ]
    }

    /// Takes any output, as the JSON that is stored, unless there is something to send already.
    public static func accept(_ value: AnyOutput, into input: inout Input) {
        guard input.file == nil, input.body == nil else { return }
        input.body = value.json
        if input.contentType == nil { input.contentType = "application/json" }
    }
}
