import Jobs

extension Upload {
    /// The input of an upload.
    public struct Input: Codable, Sendable, Hashable {
        /// The HTTP method of a plain upload.
        public enum Method: String, Codable, Sendable, CaseIterable {
            case put = "PUT"
            case post = "POST"
        }

        /// The protocol that sends the bytes.
        public enum Style: String, Codable, Sendable, CaseIterable {
            /// One request with the content as its body.
            case plain
            /// One POST of a form, with the file in one of its fields.
            case form
            /// S3 and compatible servers. Requests are signed with the credential `ACCESS:SECRET[:TOKEN]`; large files
            /// are sent in parts.
            case s3
            /// tus 1.0: `to` is the server's creation address.
            case tus
            /// The IETF's draft for resumable uploads; `plain` if the server does not support it.
            case resumable
            /// Asks the server with OPTIONS: `tus`, `resumable` or `plain`.
            case auto
        }

        /// An absolute path in an allowed folder, or `spool:ID/NAME`.
        public var file: String?
        /// The http or https URL to send the content to.
        public var to: String
        /// The protocol. Default: `plain`.
        public var style: Style?
        /// The method of a plain upload. Default: PUT.
        public var method: Method?
        /// The media type. Default: derived from the file's name or first bytes; `application/json` for a dependency's
        /// output.
        public var contentType: String?
        /// The name of the credential. It is sent in ``credentialHeader``, or signs the requests.
        public var credential: String?
        /// The header that carries the secret. Default: `Authorization`.
        public var credentialHeader: String?
        /// The text before the secret in its header, such as `Token `. Default: none.
        public var credentialPrefix: String?
        /// Further headers. Headers that Halyard itself sets, and headers with secrets, are refused.
        public var headers: [String: String]?
        /// Whether the upload fails if something already exists at the URL. Default: false.
        public var createOnly: Bool?
        /// The name of the form field with the file. Default: `file`.
        public var formField: String?
        /// Further fields of a form, sent in this order before the file.
        public var formFields: [FormField]?
        /// The region for S3. Default: `us-east-1`.
        public var region: String?
        /// The bandwidth limit of this upload per second. The limit for all uploads also applies. Default: none.
        public var maxRate: ByteSize?
        /// The time limit for the whole upload. The attempt's time limit also applies. Default: none.
        public var timeout: HumanDuration?
        /// The SHA-256 that the content must have, in hexadecimal. An upload of other content fails, and is never
        /// completed at the server.
        public var sha256: String?
        /// The text to send if there is no `file`.
        public var body: String?
        /// The file that a dependency has produced, to be sent instead. An input as JSON cannot contain it.
        var kept: KeptFile?

        /// Creates an input. All fields but `to` are optional.
        public init(
            file: String? = nil, to: String, style: Style? = nil, method: Method? = nil, contentType: String? = nil,
            credential: String? = nil, credentialHeader: String? = nil, credentialPrefix: String? = nil,
            headers: [String: String]? = nil, createOnly: Bool? = nil,
            formField: String? = nil, formFields: [FormField]? = nil,
            region: String? = nil, maxRate: ByteSize? = nil, timeout: Duration? = nil, sha256: String? = nil,
            body: String? = nil
        ) {
            self.file = file
            self.to = to
            self.style = style
            self.method = method
            self.contentType = contentType
            self.credential = credential
            self.credentialHeader = credentialHeader
            self.credentialPrefix = credentialPrefix
            self.headers = headers
            self.createOnly = createOnly
            self.formField = formField
            self.formFields = formFields
            self.region = region
            self.maxRate = maxRate
            self.timeout = timeout.map(HumanDuration.init)
            self.sha256 = sha256
            self.body = body
        }

        enum CodingKeys: String, CodingKey {
            case file, to, method, credential, headers, region, timeout, sha256, body
            case style = "protocol"
            case contentType = "content_type"
            case createOnly = "create_only"
            case credentialHeader = "credential_header"
            case credentialPrefix = "credential_prefix"
            case formField = "form_field"
            case formFields = "form_fields"
            case maxRate = "max_rate"
        }
    }

    /// The receipt of a successful upload.
    public struct Output: Codable, Sendable, Hashable {
        /// The size of the content in bytes. The server has confirmed all of it with its status.
        public var bytes: Int64
        /// The SHA-256 of the sent content, in hexadecimal.
        public var sha256: String
        /// The HTTP status of the server's last response.
        public var status: Int
        /// The `ETag` that the server gave the content.
        public var etag: String?
        /// The absolute URL that the server named for the uploaded resource.
        public var location: String?
        /// The body of the server's last response; nil if it has none.
        public var answer: Answer?
        /// The IP address of the server that received the content.
        public var address: String
        /// How long the upload took, in milliseconds.
        public var durationMs: Int64
        /// The number of requests with content in this attempt: one for each request or part, and one for each
        /// repetition.
        public var sends: Int
        /// Whether the server reported a digest of what it stored. If that digest differs, the upload fails.
        public var isChecksumConfirmed: Bool

        enum CodingKeys: String, CodingKey {
            case bytes, sha256, status, etag, location, answer, address, sends
            case durationMs = "duration_ms"
            case isChecksumConfirmed = "checksum_confirmed"
        }
    }

    public static var inputFields: [InputField] {
        [
            InputField(
                "file", .string, summary: "Absolute path of the file in an allowed folder, or spool:ID/NAME"),
            InputField(
                "to", .string, schemes: InputField.webSchemes, isRequired: true,
                summary: "Address to send the content to (http or https)"),
            InputField(
                "protocol", .string, choices: Input.Style.allCases.map(\.rawValue),
                summary: "Upload protocol; default: plain"),
            InputField(
                "method", .string, choices: Input.Method.allCases.map(\.rawValue),
                summary: "HTTP method of a plain upload; default: PUT"),
            InputField(
                "content_type", .string, summary: "Media type; default: determined from the file's name or content"),
            InputField(
                "credential", .string,
                summary: "Name of the credential to send as Authorization or to sign requests with"
            ),
            InputField(
                "credential_header", .string, summary: "Header that carries the credential; default: Authorization"),
            InputField(
                "credential_prefix", .string, summary: "Text before the credential in its header; default: none"),
            InputField(
                "headers", .object, summary: "Additional headers, an object of names and values; secrets are refused"),
            InputField(
                "create_only", .boolean, summary: "Fail if content already exists at the address; default: false"),
            InputField("form_field", .string, summary: "Name of the form field for the file; default: file"),
            InputField(
                "form_fields", .array,
                summary: "Form fields to send before the file: [{\"name\": \"key\", \"value\": \"a\"}]"),
            InputField("region", .string, summary: "Region for S3; default: us-east-1"),
            InputField(
                "max_rate", .size, range: 1...Int64.max,
                summary: "Speed limit of this upload, per second, such as 10MiB; default: none"),
            InputField(
                "timeout", .duration, range: 1...Int64.max,
                summary: "Time limit for the whole upload; default: none"),
            InputField(
                "sha256", .string, summary: "Expected SHA-256 of the content, in hexadecimal; default: not checked"),
            InputField(
                "body", .string, isFromDependency: true,
                summary: "Text to send instead of a file; a dependency provides its output as JSON"),
        ]
    }

    /// Accepts any output, unless the input already has a file or a body: the file of a job whose result is a file
    /// (``KeptFile``), or else the output's stored JSON.
    public static func accept(_ value: AnyOutput, into input: inout Input) {
        guard input.file == nil, input.body == nil else { return }
        if let file = keptFile(value) {
            input.kept = file
            if input.sha256 == nil { input.sha256 = file.sha256 }
            return
        }
        input.body = value.json
        if input.contentType == nil { input.contentType = "application/json" }
    }

    private static func keptFile(_ output: AnyOutput) -> KeptFile? {
        // Any other output is not a description of a file.
        try? KeptFile(json: JSONText(checking: Array(output.json.utf8)))
    }
}
