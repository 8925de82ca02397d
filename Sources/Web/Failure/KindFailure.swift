import Jobs
import OperationTypes
import WebSyntax

/// The reason why `upload`, `unfurl` or `enrich` failed.
///
/// The message says how to solve the problem. It contains no secrets: no credential, no header, and no query of a URL.
public struct KindFailure: OperationFailure, Hashable {
    public let reason: Reason
    public let message: String
    /// Whether another attempt may succeed.
    public let isRetryable: Bool
    /// The HTTP status of the server's response; nil if there was no response.
    public let status: Int?
    /// The URL of the request, without its query.
    public let url: String?
    /// The IP address that the client connected to or tried; nil if it did not get that far.
    public private(set) var address: String?
    /// How long the server asked the client to wait, in milliseconds.
    public let retryAfterMs: Int64?

    public var code: String { reason.rawValue }
    public var description: String { message }
    public var retryAfter: Duration? { retryAfterMs.map { .milliseconds($0) } }

    package init(
        _ reason: Reason, _ message: String, isRetryable: Bool = false, status: Int? = nil, url: WebURL? = nil,
        retryAfter: Duration? = nil
    ) {
        self.reason = reason
        self.message = message
        self.isRetryable = isRetryable
        self.status = status
        self.url = url?.redacted
        retryAfterMs = retryAfter?.milliseconds
    }

    /// Creates a failure of a request. Its message begins with the URL, without the query.
    package init(
        _ reason: Reason, at url: WebURL, _ fact: String, isRetryable: Bool = false, status: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        self.init(
            reason, "\(url.redacted): \(fact)", isRetryable: isRetryable, status: status, url: url,
            retryAfter: retryAfter)
    }

    /// Returns this failure with the IP address where it occurred. An address that is already set stays. A cancellation
    /// or a failure of the proxy gets no address.
    package func met(at address: IPAddress) -> KindFailure {
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

    /// The codes of failures. They never change, but new codes may be added.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// A field of the input is missing or invalid.
        case invalidInput = "invalid_input"
        /// A URL is invalid, or its scheme is not http or https.
        case invalidURL = "invalid_url"
        /// The host's IP address is in a network that is not allowed.
        case addressRefused = "address_refused"
        /// The port is not in the list of allowed ports.
        case portRefused = "port_refused"
        /// The host name does not exist, or has no address.
        case nameNotFound = "name_not_found"
        /// The host name could not be looked up, but a later lookup may succeed.
        case lookupFailed = "lookup_failed"
        /// No connection to the server could be opened.
        case connectFailed = "connect_failed"
        /// The proxy cannot be reached, or refuses the connection.
        case proxyFailed = "proxy_failed"
        /// No secure connection could be set up, for a reason other than the following ones.
        case tlsFailed = "tls_failed"
        case tlsExpired = "tls_expired"
        case tlsNotYetValid = "tls_not_yet_valid"
        /// The server's certificate does not name the requested host.
        case tlsWrongHost = "tls_wrong_host"
        case tlsSelfSigned = "tls_self_signed"
        case tlsUnknownAuthority = "tls_unknown_authority"
        /// The server does not send the intermediate certificate that links its own certificate to an authority.
        case tlsMissingIntermediate = "tls_missing_intermediate"
        /// The client and the server have no TLS version, cipher or protocol in common.
        case tlsNothingInCommon = "tls_no_common_protocol"
        /// A time limit was reached.
        case timeout = "timeout"
        /// The connection ended before the response was complete.
        case connectionLost = "connection_lost"
        /// The server's response violates HTTP or the upload's protocol, or its body does not match its content coding.
        case protocolError = "protocol_error"
        case headersTooLarge = "headers_too_large"
        case tooManyRedirects = "too_many_redirects"
        case redirectLoop = "redirect_loop"
        /// A redirect has no usable target.
        case redirectInvalid = "redirect_invalid"
        /// A redirect must not be followed with the content or the credential of this request.
        case redirectRefused = "redirect_refused"
        /// The server responded with an error status for which there is no other code.
        case httpStatus = "http_status"
        /// The server refused access.
        case unauthorized
        /// The server refused a signed URL, which has probably expired.
        case urlExpired = "url_expired"
        /// The server sent a robot check, a consent page or something similar in place of the page.
        case blocked
        /// The sandbox that parsed the document crashed or was ended, or parsing took too long.
        case documentUnreadable = "document_unreadable"
        /// The sandbox that parses documents cannot be started.
        case sandboxFailed = "sandbox_failed"
        case fileNotFound = "file_not_found"
        /// The file is outside the allowed folders, behind a symbolic link, or not a regular file.
        case fileRefused = "file_refused"
        /// The file cannot be opened or read.
        case fileUnreadable = "file_unreadable"
        /// The file changed while it was sent, or its content is not what was expected.
        case sourceChanged = "source_changed"
        /// The server's digest of what it stored differs from the digest of what was sent.
        case checksumMismatch = "checksum_mismatch"
        /// `create_only` is set, and something already exists at the URL.
        case alreadyExists = "already_exists"
        /// The server does not accept content of this size.
        case tooLarge = "too_large"
        /// The server no longer knows the upload that was to be resumed.
        case uploadExpired = "upload_expired"
        /// The progress of the upload could not be saved.
        case checkpointFailed = "checkpoint_failed"
        /// The credential does not exist, or its content is invalid.
        case credentialNotFound = "credential_not_found"
        /// The credential may not be sent to this server.
        case credentialRefused = "credential_refused"
        case cancelled
    }
}
