import NIOHTTP1
import Web
import WebSyntax

/// Uploads content in pieces, and resumes where it stopped, even after a restart. The protocol is tus 1.0 or the IETF's
/// draft.
///
/// - U1: The server's offset is the truth: if a response does not contain it, the client asks for it, and never assumes
///   it.
/// - U2: A checkpoint is written only for bytes that the server has confirmed.
/// - U3: With the draft, only a success with `Upload-Complete: ?1` completes the upload. If that response was lost, and
///   the server reports the upload as complete when asked later, this counts as success: what the target did with the
///   upload can no longer be found out.
/// - U4: If the file is no longer the one that the upload began with, the upload is not completed.
struct ResumableUpload: UploadMachine {
    enum Purpose: Sendable {
        case offer
        case create
        case resume(Checkpoint)
        case piece(Range<Int64>)
        /// Asks for the offset, since it is unknown how much of a piece has arrived.
        case offset(after: PieceResult)
    }

    enum ReadPurpose: Sendable {
        /// The checksum of a piece is needed before the piece is sent.
        case piece(Range<Int64>)
        /// The digest up to the server's offset is needed for the checkpoint.
        case progress(Progress)
    }

    /// The progress that the server reports.
    struct Progress: Sendable {
        var offset: Int64 = 0
        /// The response that reported the upload as complete; nil if it is not complete.
        var completion: UploadReply?
    }

    /// How the server answered a piece.
    struct PieceResult: Sendable {
        let end: Int64
        /// Nil if there was no response.
        let status: Int?
        /// The digest of the source up to the end of the piece; nil if it is unknown.
        let digest: RunningDigest?
        /// The failure of the last piece, which may be the target's only response to the complete upload.
        var failure: KindFailure?

        /// Whether the server has accepted the whole piece, if its offset is now this one.
        func isWhole(upTo offset: Int64) -> Bool { offset == end && (200..<300).contains(status ?? 0) }
    }

    /// The upload fails after the server has accepted nothing of this many pieces in a row.
    private static let maxDoubts = 5
    private static let leastChunk = 1 << 20
    /// Used as the status if there was no response.
    private static let noResponse = 0

    let plan: UploadPlan
    let dialect: ResumableDialect

    private var saved: Checkpoint?
    private(set) var offer = ResumableOffer()
    /// The URL of the upload.
    private(set) var location: WebURL
    private var offset: Int64 = 0
    /// The digest of the bytes that the server has confirmed.
    private var digest = RunningDigest()
    private var chunk: Int64
    private var doubts = 0
    /// How often the server's offset went back.
    private var losses = 0
    /// Whether the server has checked the checksum of every piece.
    private var isChecked = false

    init(plan: UploadPlan, dialect: ResumableDialect) {
        (self.plan, self.dialect, location, chunk) = (plan, dialect, plan.url, plan.chunkBytes)
    }

    // MARK: Begin and resume

    mutating func begin(from saved: Checkpoint?) -> [Step] {
        self.saved = saved
        // A tus server announces its limits beforehand, a server of the draft in each response.
        guard dialect == .draft else { return [.send(UploadRequest(.OPTIONS, plan.url, plan.headers), .offer)] }
        return resumeOrCreate()
    }

    mutating func answered(
        _ answer: UploadAnswer, to request: UploadRequest, for purpose: Purpose
    ) throws(KindFailure) -> [Step] {
        switch purpose {
        case .offer:
            // A server that fails this request may still accept uploads.
            let reply = try answer.reply
            if reply.head.isSuccess { offer = ResumableOffer(reply.headers) }
            return resumeOrCreate()
        case .create: return try created(answer)
        case .resume(let saved): return resumed(at: try progress(in: try answer.reply), from: saved)
        case .piece(let range): return try pieceAnswered(answer, range)
        case .offset(let piece):
            guard let reached = try progress(in: try answer.reply) else { return [.forget, .fail(expired)] }
            return advance(to: reached, after: piece)
        }
    }

    private mutating func resumeOrCreate() -> [Step] {
        // Halyard writes only valid URLs, so an invalid one is not from Halyard; starting over is safe.
        guard let saved, let location = try? WebURL(parsing: saved.upload) else { return create() }
        self.location = location
        return [.send(offsetRequest, .resume(saved))]
    }

    private mutating func resumed(at reached: Progress?, from saved: Checkpoint) -> [Step] {
        guard let reached else { return create() }
        // Bytes that the server received after the last checkpoint cannot be compared with a file that was touched
        // since (U4).
        let known = saved.digest ?? RunningDigest()
        guard plan.source == saved.source || reached.offset <= known.count else { return [.delete(saved)] + create() }
        digest = known
        return started(at: reached)
    }

    private func create() -> [Step] {
        if let tooLarge { return [.forget, .fail(tooLarge)] }
        return [.forget, .send(creationRequest, .create)]
    }

    private mutating func created(_ answer: UploadAnswer) throws(KindFailure) -> [Step] {
        let reply: UploadReply
        do throws(KindFailure) { reply = try answer.reply } catch {
            // The server sent the upload's URL before the connection broke.
            guard error.isRetryable, let early = answer.interim, let location = try location(in: early) else {
                throw error
            }
            return try begun(at: location, ResumableOffer(early))
        }
        let isRefused = [400, 404, 405, 411, 415, 501].contains(reply.status)
        if dialect == .draft, isRefused { return [.sendPlainly] }
        if reply.status == 412, plan.createsOnly { throw .alreadyExists(plan.url) }
        if reply.status == 413 { throw tooLarge(for: nil) }
        guard reply.head.isSuccess else { throw .status(reply.head, at: plan.url) }
        // A server that does not know the draft has stored this request as a complete, empty upload. A second request
        // would store another one.
        if dialect == .draft, answer.interim == nil, !ResumableOffer.isOfDraft(reply.headers) {
            throw KindFailure(
                .protocolError, at: plan.url,
                "the server does not support resumable uploads and accepted the empty first request as the "
                    + "whole upload; use the protocol `plain` or `auto`.", status: reply.status)
        }
        for headers in [reply.headers, answer.interim].compactMap(\.self) {
            if let location = try location(in: headers) {
                return try begun(at: location, ResumableOffer(reply.headers))
            }
        }
        throw KindFailure(
            .protocolError, at: plan.url,
            "the server created an upload but did not return its address; check that `to` is the "
                + "server's address for creating uploads.", status: reply.status)
    }

    private mutating func begun(at location: WebURL, _ more: ResumableOffer) throws(KindFailure) -> [Step] {
        offer.merge(more)
        if let tooLarge { throw tooLarge }
        self.location = location
        return started(at: Progress())
    }

    private mutating func started(at reached: Progress) -> [Step] {
        chunk = min(plan.chunkBytes, offer.maxPiece.map { max(1, $0) } ?? .max)
        // Only the requests of tus contain checksums.
        isChecked = dialect == .tus && offer.checksum != nil && reached.offset == 0 && reached.completion == nil
        return confirm(reached)
    }

    // MARK: Pieces

    private func nextPiece() -> [Step] {
        let range = offset..<min(offset + chunk, plan.size)
        guard let algorithm = dialect == .draft ? .sha256 : offer.checksum else {
            return [.send(pieceRequest(range, checksum: nil, extending: digest), .piece(range))]
        }
        return [.read(SourceRead(range: range, algorithm: algorithm), .piece(range))]
    }

    mutating func read(_ digests: SourceDigests, for purpose: ReadPurpose) throws(KindFailure) -> [Step] {
        switch purpose {
        case .piece(let range):
            return [.send(pieceRequest(range, checksum: digests.range, extending: digest), .piece(range))]
        case .progress(let reached):
            digest = digests.whole ?? digest
            return confirmed(reached)
        }
    }

    private mutating func pieceAnswered(_ answer: UploadAnswer, _ range: Range<Int64>) throws(KindFailure) -> [Step] {
        let reply: UploadReply?
        do throws(KindFailure) { reply = try answer.reply } catch {
            // Part of the piece may have arrived.
            guard error.reason == .connectionLost || error.reason == .timeout else { throw error }
            reply = nil
        }
        if let refusal = reply.flatMap(refusalOfTheWhole) { return [.forget, .fail(refusal)] }
        var piece = PieceResult(end: range.upperBound, status: reply?.status, digest: answer.digest)
        var isSilent = false
        switch reply?.status ?? Self.noResponse {
        case 200..<300:
            let reported = try reply.flatMap { reply throws(KindFailure) in
                try reportedProgress(in: reply, isLast: range.upperBound == plan.size)
            }
            if let reported, reported.completion != nil || reported.offset > offset {
                return advance(to: reported, after: piece)
            }
            isSilent = reported == nil
        case 413 where range.count > Self.leastChunk:
            chunk = Int64(max(Self.leastChunk, range.count / 4))
            return nextPiece()
        case 404, 410: return [.forget, .fail(expired)]
        // The connection was lost, perhaps behind a gateway, or the response leaves the result open. Only the server
        // knows how much has arrived (U1).
        case Self.noResponse, 409, 423, 460, 502, 504: break
        default:
            guard let failure = reply.map({ KindFailure.status($0.head, at: location) }) else { break }
            guard failure.isRetryable else { throw failure }
            if range.upperBound == plan.size { piece.failure = failure }
        }
        doubts += 1
        guard doubts < Self.maxDoubts else { return [.fail(stuck(piece.status))] }
        var request = offsetRequest
        // A server of the draft need not report the offset when it has accepted a piece, so this is no reason to wait.
        if !isSilent {
            request.wait = max(min(reply?.head.retryAfter ?? .zero, .seconds(5)), .milliseconds(100 << doubts))
        }
        return [.send(request, .offset(after: piece))]
    }

    private mutating func advance(to reached: Progress, after piece: PieceResult) -> [Step] {
        // The upload is complete although its last response was an error. This error is the only response of the
        // target.
        if dialect == .draft, reached.completion != nil, let failure = piece.failure {
            return [.forget, .fail(failure)]
        }
        if reached.offset < offset {
            losses += 1
            guard losses < Self.maxDoubts else { return [.fail(stuck(piece.status))] }
        }
        let isWhole = piece.isWhole(upTo: reached.offset)
        if reached.offset > offset {
            doubts = 0
            // The server has checked the checksum only if it accepted the whole piece.
            if !isWhole { isChecked = false }
        }
        if reached.offset == offset, reached.completion == nil { return nextPiece() }
        if isWhole, let sent = piece.digest { digest = sent }
        return confirm(reached)
    }

    /// Extends the digest to the server's offset, by reading what is not known from sending.
    private mutating func confirm(_ reached: Progress) -> [Step] {
        if digest.count > reached.offset { digest = RunningDigest() }
        if digest.count == reached.offset { return confirmed(reached) }
        let rest = SourceRead(range: digest.count..<reached.offset, digest: digest, mustBeUntouched: true)
        return [.read(rest, .progress(reached))]
    }

    private mutating func confirmed(_ reached: Progress) -> [Step] {
        offset = reached.offset
        let checkpoint = Checkpoint(
            style: dialect.rawValue, target: "\(plan.url)", upload: "\(location)", credential: plan.credential,
            credentialHeader: plan.credentialHeader, source: plan.source, offset: offset, digest: digest)
        guard let completion = reached.completion else { return [.save(checkpoint)] + nextPiece() }
        return [.save(checkpoint), .verify(digest)] + finished(completion)
    }

    private func finished(_ reply: UploadReply) -> [Step] {
        do throws(KindFailure) {
            let isConfirmed = try ServerDigest.check(reply.head, against: digest.value)
            var output = plan.receipt(reply, digest: digest.value, isConfirmed: isConfirmed || isChecked)
            output.location = output.location ?? "\(location)"
            return [.finish(output)]
        } catch {
            return [.forget, .fail(error)]
        }
    }
}
