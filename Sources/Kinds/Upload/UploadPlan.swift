import NIOHTTP1
import Web
import WebSyntax

/// The source and the target of an upload, and the other facts that every protocol needs for its decisions.
struct UploadPlan: Sendable {
    let url: WebURL
    /// The user's headers and the header with the credential, but no `Content-Type`.
    var headers: HTTPHeaders = ["accept": "*/*"]
    var contentType = MediaType.unknown
    var fileName = "file"
    let source: OpenFile.Identity
    /// Whether the content is a file, and not text from the input.
    var isFile = true
    /// Whether the upload fails if something already exists at the URL.
    var createsOnly = false
    /// The SHA-256 that the content must have. An upload of other content is never completed.
    var expected: [UInt8]?
    /// Whether an earlier attempt may have reached the server.
    var isRepeat = false
    /// Whether the user set headers, which may describe the content beyond its digest.
    var hasOwnHeaders = false
    /// The name of the credential.
    var credential: String?
    /// The header that carries the credential; nil when requests are signed with it.
    var credentialHeader: CredentialHeader?
    /// The region for S3.
    var region: String?
    var secrets = Secrets.empty
    let chunkBytes: Int64
    let partBytes: Int64

    var size: Int64 { source.size }

    /// The receipt for a response that completed the upload. Its duration and number of sends are not set yet.
    func receipt(
        _ reply: UploadReply, digest: [UInt8], etag: String? = nil, isConfirmed: Bool
    ) -> Upload.Output {
        Upload.Output(
            bytes: size, sha256: digest.hexadecimal, status: reply.status,
            etag: secrets.concealed(etag ?? reply.headers["etag"].first),
            location: secrets.concealed(
                reply.headers["location"].first.flatMap {
                    // An invalid Location is ignored; the upload itself is confirmed.
                    try? WebURL(parsing: $0, base: reply.head.url).description
                }), answer: Upload.Answer(reply.received, of: reply.head, concealing: secrets),
            address: "\(reply.head.address)", durationMs: 0, sends: 0, isChecksumConfirmed: isConfirmed)
    }
}
