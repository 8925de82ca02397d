import Crypto
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
    let signature: S3Signature
    let createsOnly: Bool

    func run() async throws(KindFailure) -> Upload.Output {
        // An upload that was begun in parts continues in parts, even if the configuration has changed.
        let isBegun = try await transfer.savedCheckpoint(style: "s3") != nil
        if transfer.source.size <= transfer.configuration.partBytes * 2, !isBegun { return try await single() }
        return try await S3Multipart(s3: self).run()
    }

    private func single() async throws(KindFailure) -> Upload.Output {
        let whole = 0..<transfer.source.size
        let digest = Array(try await transfer.digest(of: whole, by: .sha256))
        if let failure = transfer.mismatch(digest) { throw failure }
        if !createsOnly,
            let stored = try await transfer.storedBefore({ () async throws(KindFailure) in
                try await objectIfSame(as: digest)
            })
        {
            return try transfer.receipt(stored, digest: digest, isConfirmed: true)
        }
        var hasChecksum = true
        var isAmbiguous = transfer.isRepeat
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            do throws(KindFailure) {
                var reply = try await put(
                    whole, to: transfer.url, headers: marked(objectHeaders), digest: digest, hasChecksum: hasChecksum)
                if hasChecksum, S3Answer.refusesChecksums(reply) {
                    hasChecksum = false
                    reply = try await put(
                        whole, to: transfer.url, headers: marked(objectHeaders), digest: digest, hasChecksum: false)
                }
                if reply.status == 412, createsOnly, isAmbiguous, let there = try await objectIfSame(as: digest) {
                    return there
                }
                guard reply.response.isSuccess else { throw failure(reply) }
                return reply
            } catch {
                isAmbiguous = isAmbiguous || error.isRetryable
                throw error
            }
        }
        if let failure = await transfer.changeFailure(sha256: digest, ofFirst: transfer.source.size) { throw failure }
        return try transfer.receipt(reply, digest: digest)
    }

    /// Returns the response about the stored object, if it is what an earlier try sent; nil otherwise.
    private func objectIfSame(as digest: [UInt8]) async throws(KindFailure) -> Transfer.Reply? {
        var headers = transfer.headers
        headers.replaceOrAdd(name: "x-amz-checksum-mode", value: "ENABLED")
        let reply = try await ask(.HEAD, transfer.url, headers: headers)
        guard reply.response.isSuccess else { return nil }
        if let named = reply.response.headers["x-amz-checksum-sha256"].first {
            return Data(base64Encoded: named) == Data(digest) ? reply : nil
        }
        let md5 = try await transfer.digest(of: 0..<transfer.source.size, by: .md5)
        return reply.response.headers["etag"].first?.unquoted == md5.hexadecimal ? reply : nil
    }

    // MARK: Requests

    func put(
        _ range: Range<Int64>, to url: WebURL, headers: HTTPHeaders, digest: [UInt8], hasChecksum: Bool,
        reports: Bool = true
    ) async throws(KindFailure) -> Transfer.Reply {
        var headers = headers
        if hasChecksum {
            headers.replaceOrAdd(name: "x-amz-sdk-checksum-algorithm", value: "SHA256")
            headers.replaceOrAdd(name: "x-amz-checksum-sha256", value: Data(digest).base64EncodedString())
        }
        // No digest is needed here, since the caller passes it.
        var hash: SHA256?
        return try await following(url) { url throws(KindFailure) in
            try await transfer.send(
                Transfer.Piece(range: range), as: .PUT, to: url,
                headers: signature.sign(.PUT, url, headers: headers, payload: digest.hexadecimal), hash: &hash,
                body: .failures, reports: reports)
        }
    }

    func ask(
        _ method: HTTPMethod, _ url: WebURL, headers: HTTPHeaders? = nil, body: [UInt8] = []
    ) async throws(KindFailure) -> Transfer.Reply {
        let payload = SHA256.hash(data: body).hexadecimal
        return try await following(url) { url throws(KindFailure) in
            try await transfer.ask(
                method, url,
                headers: signature.sign(method, url, headers: headers ?? transfer.headers, payload: payload),
                body: body, answer: .all)
        }
    }

    /// Follows redirects with status 307 and 308. Each request is signed for the server that receives it.
    private func following(
        _ url: WebURL, _ send: (WebURL) async throws(KindFailure) -> Transfer.Reply
    ) async throws(KindFailure) -> Transfer.Reply {
        var next = url
        for _ in 0...5 {
            let reply = try await send(next)
            guard reply.status == 307 || reply.status == 308 else { return reply }
            next = try Redirect.target(of: reply.response).keeping(queryOf: url)
            guard next.origin == transfer.url.origin || isPermitted(next) else {
                throw KindFailure(
                    .redirectRefused,
                    "\(url.redacted): the S3 server redirects to \(next.origin), to which the credential may not be sent; use that "
                        + "address in `to`, or ask the administrator to add it to upload.credential_origins.", url: next
                )
            }
        }
        throw KindFailure(
            .tooManyRedirects, "\(url.redacted): more than 5 redirects; use the final address in `to`.", url: url)
    }

    private func isPermitted(_ url: WebURL) -> Bool {
        transfer.credential.map { name in
            transfer.configuration.credentialOrigins.contains { $0.permits(name, at: url) }
        } ?? false
    }

    /// The headers that describe the object.
    var objectHeaders: HTTPHeaders {
        var headers = transfer.headers
        headers.replaceOrAdd(name: "content-type", value: transfer.contentType)
        return headers
    }

    /// Adds `If-None-Match: *` if existing content must be kept. S3 supports this header only for the requests that
    /// create the object: PutObject and CompleteMultipartUpload.
    func marked(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        return headers
    }

    func failure(_ reply: Transfer.Reply) -> KindFailure {
        if reply.status == 412, createsOnly { return .alreadyExists(transfer.url) }
        let code = S3Answer.text("Code", in: reply.body) ?? ""
        // The server may report a failure in the body of a successful response.
        let isOdd = reply.response.isSuccess
        let isRetryable = ["InternalError", "SlowDown", "RequestTimeout", "ServiceUnavailable", "OperationAborted"]
            .contains(code)
        let general = KindFailure.status(reply.response, at: transfer.url)
        if code.isEmpty || general.reason != .httpStatus { return general }
        return KindFailure(
            .httpStatus,
            "\(transfer.url.redacted): the S3 server answered \(reply.status) \(code.printable); look this code up in the server's manual.",
            isRetryable: isRetryable || !isOdd && general.isRetryable, status: reply.status, url: transfer.url,
            retryAfter: general.retryAfter)
    }
}

extension WebURL {
    /// Returns the URL with the query fields that a redirect has left out: without them, the server would take a part
    /// for the whole object.
    fileprivate func keeping(queryOf url: WebURL) -> WebURL {
        func members(_ query: String?) -> [Substring] { query?.split(separator: "&") ?? [] }
        let names = Set(members(query).map { $0.prefix { $0 != "=" } })
        let missing = members(url.query).filter { !names.contains($0.prefix { $0 != "=" }) }
        var kept = self
        if !missing.isEmpty { kept.query = (members(query) + missing).joined(separator: "&") }
        return kept
    }
}
