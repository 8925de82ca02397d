import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// Uploads content in pieces, and resumes where it stopped, even after a restart. The protocol is tus 1.0 or the IETF's
/// draft.
///
/// 1. The server's offset is the truth: if a response does not contain it, the client asks for it, and never assumes
///    it.
/// 2. A checkpoint is written only for bytes that the server has confirmed.
/// 3. With the draft, only a success with `Upload-Complete: ?1` completes the upload. If that response was lost, and
///    the server reports the upload as complete when asked later, this counts as success: what the target did with the
///    upload can no longer be found out.
/// 4. If the file is no longer the one that the upload began with, the upload is not completed.
struct ResumableUpload: Sendable {
    let transfer: Transfer
    let dialect: ResumableDialect
    let fileName: String
    let createsOnly: Bool

    /// The upload fails after the server has accepted nothing of this many pieces in a row.
    private static let maxDoubts = 5
    /// Used as the status if there was no response.
    private static let noAnswer = 0

    func run() async throws(KindFailure) -> Upload.Output {
        let saved = try await transfer.savedCheckpoint(style: dialect.rawValue)
        // A tus server announces its limits beforehand, a server of the draft in each response.
        var offer = dialect == .tus ? try await tusOffer() : ResumableOffer()
        // Halyard writes only valid URLs, so an invalid one is not from Halyard; starting over is safe.
        if let saved, let place = try? WebURL(parsing: saved.upload),
            let reached = try await progressIfKnown(at: place),
            try await isKnown(upTo: reached.offset, from: saved)
        {
            let hash = try await transfer.hash(ofFirst: reached.offset, goingOnFrom: saved.digest ?? RunningDigest())
            return try await send(to: place, from: reached, hash, offer: offer)
        }
        transfer.forget()
        try checkSize(offer)
        switch try await transfer.persisting({ () async throws(KindFailure) in try await create() }) {
        case .begun(let place, let more):
            offer.merge(more)
            try checkSize(offer)
            return try await send(to: place, from: Progress(), RunningDigest(), offer: offer)
        case .unsupported:
            return try await PlainUpload(transfer: transfer, shape: .post, createsOnly: createsOnly).run()
        }
    }

    /// Whether the server's bytes can be compared with the source. Bytes that the server received after the last
    /// checkpoint cannot be compared if the file was touched since. In that case, this deletes the upload at the
    /// server, and the upload begins again.
    private func isKnown(upTo offset: Int64, from saved: Checkpoint) async throws(KindFailure) -> Bool {
        if transfer.source.identity == saved.source || offset <= saved.digest?.count ?? 0 { return true }
        await Abandonment(client: transfer.client, configuration: transfer.configuration).abandon(saved)
        return false
    }

    /// The progress that the server reports.
    private struct Progress {
        var offset: Int64 = 0
        /// The response that reported the upload as complete; nil if it is not complete.
        var completion: Transfer.Reply?
    }

    private func send(
        to place: WebURL, from start: Progress, _ begun: RunningDigest, offer: ResumableOffer
    ) async throws(KindFailure) -> Upload.Output {
        let size = transfer.source.size
        var offset = start.offset
        var hash = begun
        var chunk = min(transfer.configuration.chunkBytes, offer.maxPiece.map { max(1, $0) } ?? .max)
        var doubts = 0
        // How often the server's offset went back.
        var losses = 0
        var isChecked = offer.checksum != nil && offset == 0
        try await note(place, hash)
        transfer.progress.reached(offset)
        if let completion = start.completion { return try await finish(completion, place, hash, isChecked: false) }
        while true {
            let end = min(offset + chunk, size)
            var sent: RunningDigest? = hash
            let reply = try await patch(place, offset..<end, offer.checksum, hash: &sent)
            if let reply { try refuse(answerToTheWhole: reply, at: place) }
            let isSuccess = reply?.response.isSuccess == true
            var reached: Progress?
            var isSilent = false
            var lastFailure: KindFailure?
            switch reply?.status ?? Self.noAnswer {
            case 200..<300:
                guard let reply else { break }
                let told = try told(reply, at: place, isLast: end == size)
                isSilent = told == nil
                if let told, told.completion != nil || told.offset > offset { reached = told }
            case 413 where end - offset > 1 << 20:
                chunk = max(1 << 20, (end - offset) / 4)
                continue
            case 404, 410: throw forgotten(place)
            // The connection was lost, perhaps behind a gateway, or the response leaves the result open. Only the
            // server knows how much has arrived.
            case Self.noAnswer, 409, 423, 460, 502, 504: break
            default:
                guard let reply else { break }
                let failure = KindFailure.status(reply.response, at: place)
                guard failure.isRetryable else { throw failure }
                if end == size { lastFailure = failure }
            }
            if reached == nil {
                doubts += 1
                guard doubts < Self.maxDoubts else { throw stuck(place, reply?.status) }
                // A server of the draft need not report the offset when it has accepted a piece, so this is no reason
                // to wait.
                if !isSilent { try await pause(after: doubts, reply) }
                reached = try await progressIfKnown(at: place)
            }
            guard let reached else { throw forgotten(place) }
            // The upload is complete although its last response was an error. This error is the only response of the
            // target.
            if dialect == .draft, reached.completion != nil, let lastFailure {
                transfer.forget()
                throw lastFailure
            }
            if reached.offset < offset { losses += 1 }
            guard losses < Self.maxDoubts else { throw stuck(place, reply?.status) }
            // The server has checked the checksum only if it accepted the whole piece.
            let isWhole = isSuccess && reached.offset == end
            if reached.offset > offset {
                doubts = 0
                if !isWhole { isChecked = false }
            }
            if reached.offset != offset || reached.completion != nil {
                hash = try await transfer.hash(ofFirst: reached.offset, goingOnFrom: isWhole ? sent ?? hash : hash)
                offset = reached.offset
                try await note(place, hash)
                transfer.progress.reached(offset)
            }
            if let completion = reached.completion {
                return try await finish(completion, place, hash, isChecked: isChecked)
            }
        }
    }

    /// Returns the progress that a successful response reports; nil if the server must be asked for it.
    private func told(_ reply: Transfer.Reply, at place: WebURL, isLast: Bool) throws(KindFailure) -> Progress? {
        let offset = try offsetHeader(reply)
        switch dialect {
        case .tus:
            guard let offset else { return nil }
            return try progress(offset, isComplete: offset == transfer.source.size, reply, at: place)
        case .draft:
            // The final response comes from the target, and need not contain an offset.
            if isComplete(reply) == true {
                return try progress(offset ?? (isLast ? transfer.source.size : 0), isComplete: true, reply, at: place)
            }
            // Without this header, it is unknown whether the last piece completed the upload.
            guard let offset, !isLast || isComplete(reply) == false else { return nil }
            return try progress(offset, isComplete: false, reply, at: place)
        }
    }

    private func progress(
        _ offset: Int64, isComplete: Bool, _ reply: Transfer.Reply, at place: WebURL
    ) throws(KindFailure) -> Progress {
        try check(offset, at: place)
        guard !isComplete || offset == transfer.source.size else {
            throw KindFailure(
                .protocolError,
                "\(place.redacted): the server reports the upload as complete with \(offset) of \(transfer.source.size) bytes; the server "
                    + "must be fixed.", status: reply.status, url: place)
        }
        return Progress(offset: offset, completion: isComplete ? reply : nil)
    }

    /// With the draft, an error response that says the upload is complete comes from the target: it has received the
    /// whole upload, and refuses it. The next attempt starts over.
    private func refuse(answerToTheWhole reply: Transfer.Reply, at place: WebURL) throws(KindFailure) {
        guard dialect == .draft, !reply.response.isSuccess, isComplete(reply) == true else { return }
        transfer.forget()
        if reply.status == 412, createsOnly { throw .alreadyExists(transfer.url) }
        throw .status(reply.response, at: transfer.url)
    }

    /// The value of `Upload-Complete`; nil if the header is missing or not a Boolean.
    private func isComplete(_ reply: Transfer.Reply) -> Bool? {
        switch reply.response.headers["upload-complete"].first?.trimmingSpaces {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    private func finish(
        _ reply: Transfer.Reply, _ place: WebURL, _ hash: RunningDigest, isChecked: Bool
    ) async throws(KindFailure) -> Upload.Output {
        if let failure = await transfer.changeFailure(sha256: hash.value, ofFirst: hash.count) { throw failure }
        var output: Upload.Output
        do throws(KindFailure) { output = try transfer.receipt(reply, digest: hash.value) } catch {
            transfer.forget()
            throw error
        }
        output.isChecksumConfirmed = output.isChecksumConfirmed || isChecked
        output.location = output.location ?? "\(place)"
        return output
    }

    private func pause(after doubts: Int, _ reply: Transfer.Reply?) async throws(KindFailure) {
        let asked = min(reply?.response.retryAfter ?? .zero, .seconds(5))
        do { try await Task.sleep(for: max(asked, .milliseconds(100 << doubts))) } catch { throw .cancelled }
    }

    /// Saves the progress.
    ///
    /// - Parameter hash: The digest of all bytes that the server has confirmed.
    private func note(_ place: WebURL, _ hash: RunningDigest) async throws(KindFailure) {
        try await transfer.save(
            Checkpoint(
                style: dialect.rawValue, target: "\(transfer.url)", upload: "\(place)", credential: transfer.credential,
                credentialHeader: transfer.credentialHeader, source: transfer.source.identity, offset: hash.count,
                digest: hash))
    }

    // MARK: Requests

    private func tusOffer() async throws(KindFailure) -> ResumableOffer {
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            try await transfer.ask(.OPTIONS, transfer.url, headers: transfer.headers)
        }
        // A server that fails this request may still accept uploads.
        return reply.response.isSuccess ? ResumableOffer(reply.response.headers) : ResumableOffer()
    }

    private enum Creation: Sendable {
        case begun(WebURL, ResumableOffer)
        /// The server does not know this protocol.
        case unsupported
    }

    private func create() async throws(KindFailure) -> Creation {
        var headers = transfer.headers
        headers.add(contentsOf: dialect.version)
        headers.replaceOrAdd(name: "upload-length", value: "\(transfer.source.size)")
        switch dialect {
        case .tus:
            let metadata = [("filename", fileName), ("filetype", transfer.contentType)].filter { !$0.1.isEmpty }
                .map { "\($0.0) \(Data($0.1.utf8).base64EncodedString())" }.joined(separator: ",")
            headers.replaceOrAdd(name: "upload-metadata", value: metadata)
        case .draft:
            headers.replaceOrAdd(name: "upload-complete", value: "?0")
            headers.replaceOrAdd(name: "content-type", value: transfer.contentType)
            if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
            if let digest = transfer.expected.map({ Data($0).base64EncodedString() }) {
                headers.replaceOrAdd(name: "repr-digest", value: "sha-256=:\(digest):")
            }
        }
        let interim = InterimAnswers()
        let reply: Transfer.Reply
        do throws(KindFailure) {
            reply = try await transfer.ask(.POST, transfer.url, headers: headers, interim: interim)
        } catch {
            // The server sent the upload's URL before the connection broke.
            guard error.isRetryable, let early = interim.upload, let place = try place(in: early) else { throw error }
            return .begun(place, ResumableOffer(early))
        }
        let isRefused = [400, 404, 405, 411, 415, 501].contains(reply.status)
        if dialect == .draft, !reply.response.isSuccess, isRefused { return .unsupported }
        if reply.status == 412, createsOnly { throw .alreadyExists(transfer.url) }
        if reply.status == 413 { throw tooLarge(nil) }
        guard reply.response.isSuccess else { throw .status(reply.response, at: transfer.url) }
        // A server that does not know the draft has stored this request as a complete, empty upload. A second request
        // would store another one.
        if dialect == .draft, interim.upload == nil, !ResumableOffer.isOfDraft(reply.response.headers) {
            throw KindFailure(
                .protocolError,
                "\(transfer.url.redacted): the server does not support resumable uploads and accepted the empty first request as the "
                    + "whole upload; use the protocol `plain` or `auto`.", status: reply.status, url: transfer.url)
        }
        for head in [reply.response.headers, interim.upload].compactMap(\.self) {
            if let place = try place(in: head) { return .begun(place, ResumableOffer(reply.response.headers)) }
        }
        throw KindFailure(
            .protocolError,
            "\(transfer.url.redacted): the server created an upload but did not return its address; check that `to` is the "
                + "server's address for creating uploads.", status: reply.status, url: transfer.url)
    }

    private func place(in headers: HTTPHeaders) throws(KindFailure) -> WebURL? {
        guard let text = headers["location"].first else { return nil }
        let place: WebURL
        do throws(WebURLProblem) { place = try WebURL(parsing: text, base: transfer.url) } catch {
            throw .invalidURL(error, field: "Location")
        }
        // The pieces carry the credential and the user's headers, which must not reach another server. Without these,
        // the pieces may go to another server, but not to a less secure one.
        let isBare = transfer.secret == nil && transfer.headers.allSatisfy { $0.name == "accept" }
        guard place.origin == transfer.url.origin || isBare && place.scheme == transfer.url.scheme else {
            throw KindFailure(
                .redirectRefused,
                "\(transfer.url.redacted): the upload would send the credential or headers meant for this server to another, \(place.origin); "
                    + "use that server's address in `to`, or send no credential and no headers.", url: place)
        }
        return place
    }

    /// Sends one piece.
    ///
    /// - Returns: Nil if the connection broke or timed out; part of the piece may have arrived.
    private func patch(
        _ place: WebURL, _ range: Range<Int64>, _ checksum: PieceChecksum?, hash: inout RunningDigest?
    ) async throws(KindFailure) -> Transfer.Reply? {
        var headers = transfer.headers
        headers.add(contentsOf: dialect.version)
        headers.replaceOrAdd(name: "upload-offset", value: "\(range.lowerBound)")
        headers.replaceOrAdd(name: "content-type", value: dialect.pieceType)
        if dialect == .draft {
            headers.replaceOrAdd(name: "upload-complete", value: range.upperBound == transfer.source.size ? "?1" : "?0")
            headers.replaceOrAdd(name: "want-repr-digest", value: "sha-256=10")
            let digest = try await transfer.digest(of: range, by: .sha256)
            headers.replaceOrAdd(name: "content-digest", value: "sha-256=:\(digest.base64EncodedString()):")
        }
        if let checksum {
            let digest = try await transfer.digest(of: range, by: checksum)
            headers.replaceOrAdd(name: "upload-checksum", value: "\(checksum.rawValue) \(digest.base64EncodedString())")
        }
        do throws(KindFailure) {
            return try await transfer.send(
                Transfer.Piece(range: range), as: .PATCH, to: place, headers: headers, hash: &hash)
        } catch {
            guard error.reason == .connectionLost || error.reason == .timeout else { throw error }
            return nil
        }
    }

    /// Asks the server for the progress. Returns nil if the server no longer knows the upload.
    private func progressIfKnown(at place: WebURL) async throws(KindFailure) -> Progress? {
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            let headers = transfer.headers.adding(dialect.version)
            let reply = try await transfer.ask(.HEAD, place, headers: headers)
            if [403, 404, 410].contains(reply.status) || reply.response.isSuccess { return reply }
            let failure = KindFailure.status(reply.response, at: place)
            // The upload is locked: the server may not have noticed yet that the connection broke.
            guard reply.status == 423 || reply.status == 409 else { throw failure }
            throw KindFailure(.httpStatus, failure.message, isRetryable: true, status: reply.status, url: place)
        }
        guard reply.response.isSuccess else { return nil }
        guard let offset = try offsetHeader(reply) else {
            throw KindFailure(
                .protocolError,
                "\(place.redacted): the server does not report how many bytes of the upload it has; the server must be fixed.",
                status: reply.status, url: place)
        }
        let isDone = dialect == .tus ? offset == transfer.source.size : isComplete(reply) == true
        return try progress(offset, isComplete: isDone, reply, at: place)
    }

    private func offsetHeader(_ reply: Transfer.Reply) throws(KindFailure) -> Int64? {
        guard let text = reply.response.headers["upload-offset"].first else { return nil }
        guard let offset = Int64(text.trimmingSpaces), offset >= 0 else {
            throw KindFailure(
                .protocolError,
                "\(reply.response.url.redacted): the server's Upload-Offset is not a number; the server must be fixed.",
                url: reply.response.url)
        }
        return offset
    }

    // MARK: Failures

    private func check(_ offset: Int64, at place: WebURL) throws(KindFailure) {
        guard offset > transfer.source.size else { return }
        throw KindFailure(
            .sourceChanged,
            "\(place.redacted): the server has more bytes than the file contains; enqueue the upload as a new job.",
            url: place)
    }

    private func checkSize(_ offer: ResumableOffer) throws(KindFailure) {
        if let most = offer.maxSize, most > 0, transfer.source.size > most { throw tooLarge(most) }
    }

    private func tooLarge(_ most: Int64?) -> KindFailure {
        KindFailure(
            .tooLarge,
            "\(transfer.url.redacted): \(transfer.source.size) bytes are more than the server accepts"
                + (most.map { " (\($0))" } ?? "") + "; raise the server's limit, or send less.",
            status: most == nil ? 413 : nil,
            url: transfer.url)
    }

    private func forgotten(_ place: WebURL) -> KindFailure {
        transfer.forget()
        return KindFailure(
            .uploadExpired,
            "\(place.redacted): the server no longer has the upload; the next attempt starts from the beginning.",
            isRetryable: true, url: place)
    }

    private func stuck(_ place: WebURL, _ status: Int?) -> KindFailure {
        KindFailure(
            status == 460 ? .checksumMismatch : .connectionLost,
            "\(place.redacted): the server did not accept the next bytes (\(status.map { "\($0)" } ?? "no response")); try again "
                + "later.", isRetryable: true, status: status, url: place)
    }
}

extension HTTPHeaders {
    func adding(_ more: HTTPHeaders) -> HTTPHeaders {
        var headers = self
        headers.add(contentsOf: more)
        return headers
    }
}
