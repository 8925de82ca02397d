import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// Uploads to S3 or a compatible server, either in one request or in parts that can be resumed.
///
/// The URL is that of the object, in either style (`https://BUCKET.HOST/KEY` or `https://HOST/BUCKET/KEY`). The
/// signature of each request covers the digest of its content, so the server refuses content that was damaged on the
/// way. The client also asks for the checksum that the server stores, and compares it.
struct S3Upload: Sendable {
    let transfer: Transfer

    private var plan: UploadPlan { transfer.plan }

    func run() async throws(KindFailure) -> Upload.Output {
        // An upload that was begun in parts continues in parts, even if the configuration has changed.
        let saved = try await transfer.savedCheckpoint(style: "s3")
        if plan.size <= plan.partBytes * 2, saved == nil { return try await single() }
        let driver = UploadDriver(transfer: transfer, machine: S3Multipart(plan: plan))
        guard let output = try await driver.run(from: saved) else { preconditionFailure("S3 is never sent plainly") }
        return output
    }

    private func single() async throws(KindFailure) -> Upload.Output {
        let whole = 0..<plan.size
        let digest = try await transfer.digest(of: whole, by: .sha256)
        if let failure = transfer.mismatch(digest) { throw failure }
        if let stored = try await transfer.storedBefore(digest) {
            return plan.receipt(stored.reply, digest: digest, isConfirmed: true)
        }
        var headers = plan.markedForCreation(plan.headers)
        headers.replaceOrAdd(name: "content-type", value: plan.contentType)
        var hasChecksum = true
        var isAmbiguous = plan.isRepeat
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            func put() async throws(KindFailure) -> UploadReply {
                try await transfer.perform(
                    UploadRequest(s3PutOf: whole, sha256: digest, to: plan.url, headers, hasChecksum: hasChecksum))
            }
            do throws(KindFailure) {
                var reply = try await put()
                if hasChecksum, S3Answer.refusesChecksums(reply) {
                    hasChecksum = false
                    reply = try await put()
                }
                if reply.status == 412, plan.createsOnly, isAmbiguous,
                    let stored = try await transfer.stored(at: plan.url, digest)
                {
                    return stored.reply
                }
                guard reply.head.isSuccess else { throw plan.s3Failure(reply) }
                return reply
            } catch {
                isAmbiguous = isAmbiguous || error.isRetryable
                throw error
            }
        }
        try await transfer.verify(digest, ofFirst: plan.size)
        return plan.receipt(
            reply, digest: digest, isConfirmed: try ServerDigest.check(reply.head, against: digest))
    }
}

extension UploadRequest {
    /// A request to store a range of the source as an object or a part.
    init(s3PutOf range: Range<Int64>, sha256: [UInt8], to url: WebURL, _ headers: HTTPHeaders, hasChecksum: Bool) {
        self.init(.PUT, url, headers)
        (content, bodyUse, self.sha256) = (.piece(Piece(range: range)), .failures, sha256)
        if hasChecksum {
            self.headers.replaceOrAdd(name: "x-amz-sdk-checksum-algorithm", value: "SHA256")
            self.headers.replaceOrAdd(name: "x-amz-checksum-sha256", value: Data(sha256).base64EncodedString())
        }
    }
}

extension UploadPlan {
    /// A request whose response contains everything in its body.
    func s3Request(_ method: HTTPMethod, _ url: WebURL) -> UploadRequest {
        var request = UploadRequest(method, url, headers)
        request.bodyUse = .all
        return request
    }

    /// Adds `If-None-Match: *` if existing content must be kept. S3 supports this header only for the requests that
    /// create the object: PutObject and CompleteMultipartUpload.
    func markedForCreation(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        return headers
    }

    func s3Failure(_ reply: UploadReply) -> KindFailure {
        if reply.status == 412, createsOnly { return .alreadyExists(url) }
        let code = S3Answer.text("Code", in: reply.body) ?? ""
        // The server may report a failure in the body of a successful response.
        let isOdd = reply.head.isSuccess
        let isRetryable = ["InternalError", "SlowDown", "RequestTimeout", "ServiceUnavailable", "OperationAborted"]
            .contains(code)
        let general = KindFailure.status(reply.head, at: url)
        if code.isEmpty || general.reason != .httpStatus { return general }
        return KindFailure(
            .httpStatus, at: url,
            "the S3 server answered \(reply.status) \(code.printable); look this code up in the server's manual.",
            isRetryable: isRetryable || !isOdd && general.isRetryable, status: reply.status,
            retryAfter: general.retryAfter)
    }
}
