import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// Uploads a large object in parts, several at once. After an interruption, it sends only the parts that the server
/// lacks.
///
/// - M1: A recorded part counts only if the server's own list contains it.
/// - M2: If the response to the creation is lost, the store may have begun an upload, which it keeps and charges for.
///   In that case the client lists the uploads that have begun (ListMultipartUploads). It continues its own upload if
///   that is among them, and begins another one only if it is not. If the store gives no clear answer, the attempt
///   ends, so that an attempt leaves at most one unused upload behind.
/// - M3: If the response to the completion is lost, the object with the ETag of exactly these parts is the proof.
struct S3Multipart: UploadMachine {
    enum Purpose: Sendable {
        /// Lists the parts that the server has, from `marker` on.
        case parts(Checkpoint, stored: [Int: S3Answer.Part], marker: Int)
        /// Looks for the object of an upload that the server no longer has.
        case earlierObject(Checkpoint)
        /// Checks whether the object exists already. Only the completion of the upload decides.
        case existingObject
        case creation(hasChecksums: Bool)
        case uploads(S3Search)
        /// Checks whether an upload has parts.
        case candidate(S3Search)
        case part(S3Parts.Part)
        case completion
        /// Looks for the object after the completion failed, since an earlier request may have completed the upload.
        case completedObject(KindFailure)
    }

    enum ReadPurpose: Sendable { case nextPart }

    let plan: UploadPlan
    private(set) var parts: S3Parts?
    /// The response about an object that an earlier attempt completed.
    private var earlierObject: UploadReply?
    /// Whether an earlier request may have completed the upload.
    private var mayBeCompleted: Bool

    init(plan: UploadPlan) { (self.plan, mayBeCompleted) = (plan, plan.isRepeat) }

    func begin(from saved: Checkpoint?) throws(KindFailure) -> [Step] {
        guard let saved, saved.partBytes != nil else { return try create() }
        return [list(saved, stored: [:], after: 0)]
    }

    mutating func answered(
        _ answer: UploadAnswer, to request: UploadRequest, for purpose: Purpose
    ) throws(KindFailure) -> [Step] {
        switch purpose {
        case .parts(let saved, let stored, let marker):
            return try partsListed(try answer.reply, saved, stored, marker)
        case .earlierObject(let saved):
            let reply = try objectReply(answer)
            guard isObject(reply, of: saved.parts) else { return [.forget] + (try create()) }
            earlierObject = reply
            return try resume(saved)
        case .existingObject:
            if try answer.reply.head.isSuccess { throw .alreadyExists(plan.url) }
            return [creation(hasChecksums: true)]
        case .creation(let hasChecksums): return try created(answer, request, hasChecksums)
        case .uploads(let search): return try uploadsListed(answer, search)
        case .candidate(let search): return try candidateListed(answer, search)
        case .part(let part): return try partStored(try answer.reply, part)
        case .completion: return try completed(answer)
        case .completedObject(let failure):
            let reply = try objectReply(answer)
            guard let parts, isObject(reply, of: parts.checkpoint.parts) else { return [.fail(failure)] }
            // After a 412, the server still has an unfinished upload with the parts that this attempt sent again. Nobody
            // needs that upload, so it is deleted.
            return (failure.status == 412 ? [.delete(parts.checkpoint)] : []) + finished(reply, parts)
        }
    }

    // MARK: Resume

    private func list(_ saved: Checkpoint, stored: [Int: S3Answer.Part], after marker: Int) -> Step {
        let url = plan.url.adding(["uploadId": saved.upload, "part-number-marker": "\(marker)"])
        return .send(plan.s3Request(.GET, url), .parts(saved, stored: stored, marker: marker))
    }

    private mutating func partsListed(
        _ reply: UploadReply, _ saved: Checkpoint, _ known: [Int: S3Answer.Part], _ marker: Int
    ) throws(KindFailure) -> [Step] {
        if reply.status == 404 {
            guard saved.offset == plan.size else { return [.forget] + (try create()) }
            return [.send(plan.s3Request(.HEAD, plan.url), .earlierObject(saved))]
        }
        guard reply.head.isSuccess else { throw plan.s3Failure(reply) }
        let page = S3Answer.parts(in: reply.body)
        let stored = known.merging(page.map { ($0.number, $0) }) { $1 }
        // The part numbers must rise and are limited, so that the listing ends.
        if S3Answer.text("IsTruncated", in: reply.body) == "true", let last = page.last?.number, last > marker,
            last <= S3Parts.maxCount
        {
            return [list(saved, stored: stored, after: last)]
        }
        var saved = saved
        saved.parts.removeAll { part in
            stored[part.number].map { $0.bytes != part.bytes || $0.etag != part.etag.unquoted } ?? true
        }
        saved.offset = saved.parts.reduce(0) { $0 + $1.bytes }
        return try resume(saved)
    }

    private mutating func resume(_ checkpoint: Checkpoint) throws(KindFailure) -> [Step] {
        parts = S3Parts(checkpoint, of: plan)
        return [.save(checkpoint)] + (try nextSteps())
    }

    // MARK: Create

    private func create() throws(KindFailure) -> [Step] {
        guard plan.isFile else {
            throw KindFailure(
                .invalidInput, "`body` is too large for one request; let the job that produces it write a file.")
        }
        if plan.createsOnly, !plan.isRepeat { return [.send(plan.s3Request(.HEAD, plan.url), .existingObject)] }
        return [creation(hasChecksums: true)]
    }

    private func creation(hasChecksums: Bool, retries: Retries = Retries()) -> Step {
        var request = plan.s3Request(.POST, plan.url.adding(["uploads": ""]))
        request.headers.replaceOrAdd(name: "content-type", value: plan.contentType)
        if hasChecksums { request.headers.replaceOrAdd(name: "x-amz-checksum-algorithm", value: "SHA256") }
        request.retries = retries
        return .send(request, .creation(hasChecksums: hasChecksums))
    }

    private mutating func created(
        _ answer: UploadAnswer, _ request: UploadRequest, _ hasChecksums: Bool
    ) throws(KindFailure) -> [Step] {
        let reply: UploadReply
        do throws(KindFailure) { reply = try answer.reply } catch {
            guard error.reason == .connectionLost || error.reason == .timeout,
                let again = request.repeated(after: error)
            else { throw error }
            // The store may have begun an upload (M2).
            let search = S3Search(lost: error, creation: again, hasChecksums: hasChecksums, url: plan.url)
            return uploads(search, wait: again.wait)
        }
        if hasChecksums, S3Answer.refusesChecksums(reply) {
            return [creation(hasChecksums: false, retries: request.retries)]
        }
        guard reply.head.isSuccess else { throw plan.s3Failure(reply) }
        guard let id = S3Answer.text("UploadId", in: reply.body), !id.isEmpty else {
            throw KindFailure(
                .protocolError, at: plan.url,
                "the server did not create a multipart upload; check that it is an S3 server.")
        }
        return try begun(id, hasChecksums)
    }

    private mutating func begun(_ id: String, _ hasChecksums: Bool) throws(KindFailure) -> [Step] {
        try resume(
            Checkpoint(
                style: "s3", target: "\(plan.url)", upload: id, credential: plan.credential, region: plan.region,
                source: plan.source, offset: 0,
                partBytes: S3Parts.partBytes(for: plan.size, atLeast: plan.partBytes, chunk: plan.chunkBytes),
                hasChecksums: hasChecksums))
    }

    // MARK: Search for an upload that has begun

    private func uploads(_ search: S3Search, wait: Duration = .zero) -> [Step] {
        // The store does not list its uploads.
        guard let place = search.locations.first else { return [.fail(search.lost)] }
        var request = plan.s3Request(.GET, place.bucket.adding(["uploads": "", "prefix": place.key]))
        (request.retries, request.wait) = (search.creation.retries, wait)
        return [.send(request, .uploads(search))]
    }

    private func uploadsListed(_ answer: UploadAnswer, _ search: S3Search) throws(KindFailure) -> [Step] {
        guard let reply = try search.reply(in: answer) else { return [.fail(search.lost)] }
        if KindFailure.status(reply.head, at: plan.url).isRetryable { throw plan.s3Failure(reply) }
        var search = search
        guard let place = search.locations.first, reply.head.isSuccess, let uploads = S3Answer.uploads(in: reply.body)
        else {
            search.locations.removeFirst()
            return self.uploads(search)
        }
        // The 2 s allow for rounding, since both times are in whole seconds.
        let oldest = Double(answer.attemptBeganAt - 2)
        search.candidates = uploads.filter { $0.key == place.key && $0.initiatedAt >= oldest }.map(\.id)
        return candidate(search)
    }

    private func candidate(_ search: S3Search) -> [Step] {
        if let id = search.candidates.first {
            let url = plan.url.adding(["uploadId": id, "max-parts": "1"])
            return [.send(plan.s3Request(.GET, url), .candidate(search))]
        }
        return [creation(hasChecksums: search.hasChecksums, retries: search.creation.retries)]
    }

    private mutating func candidateListed(_ answer: UploadAnswer, _ search: S3Search) throws(KindFailure) -> [Step] {
        guard let reply = try search.reply(in: answer) else { return [.fail(search.lost)] }
        var search = search
        let id = search.candidates.removeFirst()
        if reply.head.isSuccess, S3Answer.parts(in: reply.body).isEmpty { search.empty.append(id) }
        // If there are several, one of them may belong to another job.
        if search.empty.count > 1 { return [.fail(search.lost)] }
        if search.candidates.isEmpty, let own = search.empty.first { return try begun(own, search.hasChecksums) }
        return candidate(search)
    }

    // MARK: Parts

    private mutating func nextSteps() throws(KindFailure) -> [Step] {
        guard var parts else { return [] }
        if parts.isComplete {
            if let earlierObject { return finished(earlierObject, parts) }
            return [.verify(parts.digest), .send(completion(of: parts.checkpoint), .completion)]
        }
        let part = parts.takeNext()
        self.parts = parts
        return (part.map { [.send(request(for: $0, of: parts.checkpoint), .part($0))] } ?? [])
            + (parts.nextRead.map { [.read($0, .nextPart)] } ?? [])
    }

    mutating func read(_ digests: SourceDigests, for purpose: ReadPurpose) throws(KindFailure) -> [Step] {
        try parts?.read(digests)
        return try nextSteps()
    }

    private func request(for part: S3Parts.Part, of upload: Checkpoint) -> UploadRequest {
        let url = plan.url.adding(["partNumber": "\(part.number)", "uploadId": upload.upload])
        var request = UploadRequest(
            s3PutOf: part.range, sha256: part.sha256, to: url, plan.headers, hasChecksum: upload.hasChecksums ?? false)
        request.reportsProgress = false
        return request
    }

    private mutating func partStored(_ reply: UploadReply, _ part: S3Parts.Part) throws(KindFailure) -> [Step] {
        guard reply.head.isSuccess else { throw plan.s3Failure(reply) }
        guard let etag = reply.headers["etag"].first else {
            throw KindFailure(
                .protocolError, at: plan.url,
                "the server stored a part but returned no ETag; check that it is an S3 server.")
        }
        let isConfirmed: Bool
        do throws(KindFailure) { isConfirmed = try ServerDigest.check(reply.head, against: part.sha256) } catch {
            return [.fail(error)]
        }
        parts?.stored(
            Checkpoint.Part(
                number: part.number, etag: etag, bytes: part.range.upperBound - part.range.lowerBound,
                sha256: part.sha256.hexadecimal, isConfirmed: isConfirmed))
        return (parts.map { [.save($0.checkpoint)] } ?? []) + (try nextSteps())
    }

    // MARK: Complete

    private func completion(of upload: Checkpoint) -> UploadRequest {
        let parts = upload.parts.map { part in
            let checksum =
                upload.hasChecksums == true
                ? "<ChecksumSHA256>\(Data(part.sha256.bytesFromHexadecimal).base64EncodedString())</ChecksumSHA256>"
                : ""
            return
                "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(part.etag.escapedForXML)</ETag>\(checksum)</Part>"
        }.joined()
        var request = plan.s3Request(.POST, plan.url.adding(["uploadId": upload.upload]))
        request.headers = plan.markedForCreation(request.headers)
        request.headers.replaceOrAdd(name: "content-type", value: "application/xml")
        request.content = .bytes(
            Array(
                "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(parts)</CompleteMultipartUpload>"
                    .utf8))
        return request
    }

    private mutating func completed(_ answer: UploadAnswer) throws(KindFailure) -> [Step] {
        guard let parts else { return [] }
        do throws(KindFailure) {
            let reply = try answer.reply
            // The server may respond 200 at once, and report a failure in the body.
            if reply.head.isSuccess, S3Answer.text("Code", in: reply.body) == nil { return finished(reply, parts) }
            let failure = plan.s3Failure(reply)
            guard reply.status == 404 || reply.status == 412, mayBeCompleted else { throw failure }
            return [.send(plan.s3Request(.HEAD, plan.url), .completedObject(failure))]
        } catch {
            mayBeCompleted = mayBeCompleted || error.isRetryable
            throw error
        }
    }

    /// The response to a request for the object. A server that is busy has not said whether the object is there, so the
    /// request is repeated.
    private func objectReply(_ answer: UploadAnswer) throws(KindFailure) -> UploadReply {
        let reply = try answer.reply
        let failure = plan.s3Failure(reply)
        if !reply.head.isSuccess, failure.isRetryable { throw failure }
        return reply
    }

    private func isObject(_ reply: UploadReply, of parts: [Checkpoint.Part]) -> Bool {
        reply.head.isSuccess && reply.headers["etag"].first?.unquoted == S3Answer.etag(of: parts).unquoted
    }

    private func finished(_ reply: UploadReply, _ parts: S3Parts) -> [Step] {
        let upload = parts.checkpoint
        let named = reply.headers["x-amz-checksum-sha256"].first ?? S3Answer.text("ChecksumSHA256", in: reply.body)
        if upload.hasChecksums == true, let named, named.contains("-"), named != S3Answer.checksum(of: upload.parts) {
            let failure = KindFailure(
                .checksumMismatch, at: plan.url,
                "the S3 server assembled something other than what was sent; upload it again.",
                isRetryable: true, status: reply.status)
            return [.forget, .fail(failure)]
        }
        let etag = S3Answer.text("ETag", in: reply.body) ?? reply.headers["etag"].first
        let output = plan.receipt(
            reply, digest: parts.digest.value, etag: etag ?? S3Answer.etag(of: upload.parts),
            isConfirmed: upload.parts.allSatisfy(\.isConfirmed))
        return [.finish(output)]
    }
}

/// A search for the upload that a lost request may have begun: it began for exactly this key after the request, and has
/// no parts yet.
struct S3Search: Sendable {
    /// Why the response to the creation was lost.
    let lost: KindFailure
    /// The request that is sent again if there is no such upload.
    let creation: UploadRequest
    let hasChecksums: Bool
    /// The bucket's URL and the object's key, for both styles of URLs: the object's URL does not show which style it
    /// has.
    var locations: [(bucket: WebURL, key: String)]
    /// The uploads that were not examined yet.
    var candidates: [String] = []
    var empty: [String] = []

    init(lost: KindFailure, creation: UploadRequest, hasChecksums: Bool, url: WebURL) {
        (self.lost, self.creation, self.hasChecksums) = (lost, creation, hasChecksums)
        func place(_ path: String, _ key: Substring) -> (bucket: WebURL, key: String) {
            var bucket = url
            (bucket.path, bucket.query) = (path, nil)
            return (bucket, String(decoding: PercentEncoding.decode(Array(key.utf8)[...]), as: UTF8.self))
        }
        let whole = url.path.dropFirst()
        let first = whole.prefix { $0 != "/" }
        let rest = whole.dropFirst(first.count + 1)
        locations = (rest.isEmpty ? [] : [place("/\(first)", rest)]) + [place("/", whole)]
    }

    /// Returns the reply; nil after a failure that leaves it unknown what the store has begun.
    func reply(in answer: UploadAnswer) throws(KindFailure) -> UploadReply? {
        do throws(KindFailure) { return try answer.reply } catch {
            guard error.isRetryable || error.reason == .cancelled else { return nil }
            throw error
        }
    }
}
