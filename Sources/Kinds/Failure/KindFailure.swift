import OperationTypes

/// Why `upload`, `unfurl` or `enrich` did not succeed.
///
/// The message says what to do about it and holds no secret: no credential, no header and no query of an address.
public struct KindFailure: OperationFailure, Hashable {
    public let reason: Reason
    public let message: String
    public let isRetryable: Bool
    /// What the server answered, when it answered.
    public let status: Int?
    /// The address concerned, without its query.
    public let url: String?
    /// The IP address that was connected to, or tried, when it came to that.
    public private(set) var address: String?
    /// The wait that the server asked for, in milliseconds.
    public let retryAfterMs: Int64?

    public var code: String { reason.rawValue }
    public var description: String { message }
    public var retryAfter: Duration? { retryAfterMs.map { .milliseconds($0) } }

    init(
        _ reason: Reason, _ message: String, isRetryable: Bool = false, status: Int? = nil, url: WebURL? = nil,
        retryAfter: Duration? = nil
    ) {
        self.reason = reason
        self.message = message
        self.isRetryable = isRetryable
        self.status = status
        self.url = url?.redacted
        retryAfterMs = retryAfter.map {
            $0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000
        }
    }

    /// The same, with the address that it was met at.
    func met(at address: IPAddress) -> KindFailure {
        if self.address != nil || reason == .cancelled || reason == .proxyFailed { return self }
        var failure = self
        failure.address = "\(address)"
        return failure
    }

    enum CodingKeys: String, CodingKey {
        case reason = "code"
        case message
        case isRetryable = "retryable"
        case status, url, address
        case retryAfterMs = "retry_after_ms"
    }

    /// The codes. They never change; new ones may be added.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// A field of the input is missing or cannot be used.
        case invalidInput = "invalid_input"
        /// An address cannot be parsed, or is not http or https.
        case invalidURL = "invalid_url"
        /// The address, or what a name resolves to, lies in a network that is refused.
        case addressRefused = "address_refused"
        case portRefused = "port_refused"
        /// The name does not exist, or has no address.
        case nameNotFound = "name_not_found"
        /// The name could not be looked up now.
        case lookupFailed = "lookup_failed"
        case connectFailed = "connect_failed"
        /// The proxy cannot be reached, or does not let it through.
        case proxyFailed = "proxy_failed"
        /// No secure connection, for a reason other than the following ones.
        case tlsFailed = "tls_failed"
        case tlsExpired = "tls_expired"
        case tlsNotYetValid = "tls_not_yet_valid"
        /// The certificate is for other names.
        case tlsWrongHost = "tls_wrong_host"
        case tlsSelfSigned = "tls_self_signed"
        case tlsUnknownAuthority = "tls_unknown_authority"
        /// The server does not send an intermediate certificate between its own and the authority's.
        case tlsMissingIntermediate = "tls_missing_intermediate"
        /// Both sides have no TLS version, cipher or protocol in common.
        case tlsNothingInCommon = "tls_no_common_protocol"
        /// The server took longer than a limit of ours.
        case timeout = "timeout"
        case connectionLost = "connection_lost"
        /// What the server sent is not HTTP, or its body does not match its content coding.
        case protocolError = "protocol_error"
        case headersTooLarge = "headers_too_large"
        case tooManyRedirects = "too_many_redirects"
        case redirectLoop = "redirect_loop"
        /// A redirect without a usable target.
        case redirectInvalid = "redirect_invalid"
        /// A redirect that must not be followed with what is being sent.
        case redirectRefused = "redirect_refused"
        /// A status that says no.
        case httpStatus = "http_status"
        /// The server did not let us in, or only with other rights.
        case unauthorized
        /// A signed address that is no longer taken.
        case urlExpired = "url_expired"
        /// A robot check, consent page or similar stands in front of the page.
        case blocked
        /// The document ended the sandbox that read it, or kept it busy for too long.
        case documentUnreadable = "document_unreadable"
        /// The sandbox that reads documents cannot be started.
        case sandboxFailed = "sandbox_failed"
        case fileNotFound = "file_not_found"
        /// The file lies outside the allowed folders, behind a symbolic link, or is not a regular file.
        case fileRefused = "file_refused"
        case fileUnreadable = "file_unreadable"
        /// The file changed while it was sent.
        case sourceChanged = "source_changed"
        /// What the server says it stored is not what was sent.
        case checksumMismatch = "checksum_mismatch"
        /// `create_only` was asked for, and something is there.
        case alreadyExists = "already_exists"
        /// The server takes no file of this size.
        case tooLarge = "too_large"
        /// The server no longer knows the upload that was to go on.
        case uploadExpired = "upload_expired"
        /// How far an upload is could not be noted.
        case checkpointFailed = "checkpoint_failed"
        case credentialNotFound = "credential_not_found"
        /// The credential may not be sent to that server.
        case credentialRefused = "credential_refused"
        case cancelled
    }
}
