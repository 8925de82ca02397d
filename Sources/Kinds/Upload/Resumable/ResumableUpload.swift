import Crypto
import FoundationEssentials
import NIOHTTP1

/// Uploads in pieces that go on where they stopped, also after a restart: tus 1.0, and the draft of the IETF.
///
/// 1. The server's offset is the truth: it is asked after every doubt, and never assumed.
/// 2. A checkpoint is written only for what the server has confirmed.
/// 3. Nothing is finished when the file is no longer the one that was begun with.
struct ResumableUpload: Sendable {
    enum Dialect: String, Sendable {
        case tus
        case draft = "resumable"
    }

    let transfer: Transfer
    let dialect: Dialect
    let fileName: String
    let createsOnly: Bool

    func run() async throws(KindFailure) -> Upload.Output {
        var place: WebURL
        var offset: Int64
        if let saved = try transfer.savedCheckpoint(style: dialect.rawValue),
            // A place that cannot be parsed was not written by us; starting over is safe.
            let known = try? WebURL(parsing: saved.upload), let confirmed = try await offsetIfKnown(at: known)
        {
            (place, offset) = (known, confirmed)
        } else {
            switch try await transfer.persisting({ () async throws(KindFailure) in try await create() }) {
            case .begun(let fresh): (place, offset) = (fresh, 0)
            case .unsupported:
                return try await PlainUpload(transfer: transfer, shape: .post, createsOnly: createsOnly).run()
            }
        }
        return try await send(to: place, from: offset)
    }

    private func send(to place: WebURL, from start: Int64) async throws(KindFailure) -> Upload.Output {
        let size = transfer.source.size
        var offset = start
        var hash = try await transfer.hash(ofFirst: offset)
        var chunk = transfer.configuration.chunkBytes
        var doubts = 0
        try await note(place, offset)
        transfer.progress.reached(offset)
        while true {
            let end = min(offset + chunk, size)
            let (now, from) = (hash, offset)
            let outcome = try await transfer.persisting { () async throws(KindFailure) in
                var hash = now
                let reply = try await patch(place, from..<end, hash: &hash)
                return (reply, hash)
            }
            let (reply, hashed) = outcome
            switch reply.status {
            case 200..<300:
                // What the server does not confirm by its offset is not confirmed.
                let confirmed = try offsetHeader(reply) ?? end
                doubts = confirmed > offset ? 0 : doubts + 1
                if confirmed == end {
                    (offset, hash) = (end, hashed)
                } else {
                    try check(confirmed, at: place)
                    (offset, hash) = (confirmed, try await transfer.hash(ofFirst: confirmed))
                }
                try await note(place, offset)
                if offset == size { return try finish(reply, place: place, hash: hash) }
            case 413 where chunk > 1 << 20:
                chunk = max(1 << 20, chunk / 4)
            case 404, 410:
                transfer.checkpoint?.remove()
                throw KindFailure(
                    .uploadExpired,
                    "\(place.redacted): the server has forgotten the upload; it starts over at the next try.",
                    isRetryable: true, status: reply.status, url: place)
            case 409, 423, 460:
                doubts += 1
            default:
                throw .status(reply.response, at: place)
            }
            guard doubts < 5 else {
                throw KindFailure(
                    .connectionLost,
                    "\(place.redacted): the server does not take the next bytes (\(reply.status)); try again later.",
                    isRetryable: true, status: reply.status, url: place)
            }
            if [409, 423, 460].contains(reply.status) {
                do { try await Task.sleep(for: .milliseconds(200 << doubts)) } catch { throw .cancelled }
                let confirmed = try await currentOffset(at: place)
                if confirmed != offset { (offset, hash) = (confirmed, try await transfer.hash(ofFirst: confirmed)) }
            }
        }
    }

    private func finish(_ reply: Transfer.Reply, place: WebURL, hash: SHA256) throws(KindFailure) -> Upload.Output {
        if let failure = transfer.source.changeFailure() { throw failure }
        transfer.checkpoint?.remove()
        var output = try transfer.receipt(reply, hash: hash)
        output.location = output.location ?? "\(place)"
        return output
    }

    private func note(_ place: WebURL, _ offset: Int64) async throws(KindFailure) {
        guard case .file(let file) = transfer.source else { return }
        try await transfer.save(
            Checkpoint(
                style: dialect.rawValue, target: "\(transfer.url)", upload: "\(place)", source: file.identity,
                offset: offset))
    }

    // MARK: What the dialects say differently

    private enum Creation: Sendable {
        case begun(WebURL)
        /// The server does not know this protocol.
        case unsupported
    }

    private func create() async throws(KindFailure) -> Creation {
        var headers = transfer.headers
        switch dialect {
        case .tus:
            headers.replaceOrAdd(name: "tus-resumable", value: "1.0.0")
            headers.replaceOrAdd(name: "upload-length", value: "\(transfer.source.size)")
            let metadata = [("filename", fileName), ("filetype", transfer.contentType)].filter { !$0.1.isEmpty }
                .map { "\($0.0) \(Data($0.1.utf8).base64EncodedString())" }.joined(separator: ",")
            headers.replaceOrAdd(name: "upload-metadata", value: metadata)
        case .draft:
            headers.replaceOrAdd(name: "upload-draft-interop-version", value: Self.interopVersion)
            headers.replaceOrAdd(name: "upload-complete", value: "?0")
            headers.replaceOrAdd(name: "upload-length", value: "\(transfer.source.size)")
            headers.replaceOrAdd(name: "content-type", value: transfer.contentType)
            if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        }
        let reply = try await transfer.ask(.POST, transfer.url, headers: headers)
        guard reply.response.isSuccess, let text = reply.response.headers["location"].first else {
            let isUnknown =
                dialect == .draft
                && (reply.response.isSuccess || [400, 404, 405, 411, 415, 501].contains(reply.status))
            if isUnknown { return .unsupported }
            throw reply.response.isSuccess
                ? KindFailure(
                    .protocolError,
                    "\(transfer.url.redacted): the server began an upload and did not say where; check that `to` is the "
                        + "server's creation address.", status: reply.status, url: transfer.url)
                : KindFailure.status(reply.response, at: transfer.url)
        }
        let place: WebURL
        do throws(WebURLProblem) { place = try WebURL(parsing: text, base: transfer.url) } catch {
            throw .invalidURL(error, field: "Location")
        }
        // The credential goes with the pieces; it must not reach another server.
        guard place.origin == transfer.url.origin || transfer.secret == nil else {
            throw KindFailure(
                .redirectRefused,
                "\(transfer.url.redacted): the upload would go to another server, \(place.origin), with the credential; "
                    + "name that server in `to`.", url: place)
        }
        return .begun(place)
    }

    private static let interopVersion = "8"

    private func patch(_ place: WebURL, _ range: Range<Int64>, hash: inout SHA256) async throws(KindFailure)
        -> Transfer.Reply
    {
        var headers = transfer.headers
        headers.replaceOrAdd(name: "upload-offset", value: "\(range.lowerBound)")
        switch dialect {
        case .tus:
            headers.replaceOrAdd(name: "tus-resumable", value: "1.0.0")
            headers.replaceOrAdd(name: "content-type", value: "application/offset+octet-stream")
        case .draft:
            headers.replaceOrAdd(name: "upload-draft-interop-version", value: Self.interopVersion)
            headers.replaceOrAdd(name: "upload-complete", value: range.upperBound == transfer.source.size ? "?1" : "?0")
            headers.replaceOrAdd(name: "content-type", value: "application/partial-upload")
        }
        do throws(KindFailure) {
            return try await transfer.send(
                Transfer.Piece(range: range), as: .PATCH, to: place, headers: headers, hash: &hash)
        } catch {
            // The piece may have arrived in part: sending it again from its start would be refused.
            guard error.reason == .connectionLost || error.reason == .timeout,
                let confirmed = try await offsetIfKnown(at: place),
                confirmed != range.lowerBound
            else { throw error }
            throw KindFailure(
                .connectionLost,
                "\(place.redacted): the connection broke after \(confirmed) bytes; the upload goes on from there.",
                isRetryable: true, url: place)
        }
    }

    /// Nil when the server no longer knows the upload.
    private func offsetIfKnown(at place: WebURL) async throws(KindFailure) -> Int64? {
        let reply = try await transfer.persisting { () async throws(KindFailure) in try await askOffset(place) }
        if [403, 404, 410].contains(reply.status) { return nil }
        guard reply.response.isSuccess, let offset = try offsetHeader(reply) else {
            throw KindFailure.status(reply.response, at: place)
        }
        try check(offset, at: place)
        return offset
    }

    private func currentOffset(at place: WebURL) async throws(KindFailure) -> Int64 {
        guard let offset = try await offsetIfKnown(at: place) else {
            transfer.checkpoint?.remove()
            throw KindFailure(
                .uploadExpired,
                "\(place.redacted): the server has forgotten the upload; it starts over at the next try.",
                isRetryable: true,
                url: place)
        }
        return offset
    }

    private func askOffset(_ place: WebURL) async throws(KindFailure) -> Transfer.Reply {
        var headers = transfer.headers
        switch dialect {
        case .tus: headers.replaceOrAdd(name: "tus-resumable", value: "1.0.0")
        case .draft: headers.replaceOrAdd(name: "upload-draft-interop-version", value: Self.interopVersion)
        }
        let reply = try await transfer.ask(.HEAD, place, headers: headers)
        if [408, 425, 429, 500, 502, 503, 504].contains(reply.status) { throw .status(reply.response, at: place) }
        return reply
    }

    private func offsetHeader(_ reply: Transfer.Reply) throws(KindFailure) -> Int64? {
        guard let text = reply.response.headers["upload-offset"].first else { return nil }
        guard let offset = Int64(text.trimmingSpaces), offset >= 0 else {
            throw KindFailure(
                .protocolError,
                "\(reply.response.url.redacted): the server's Upload-Offset is not a number; it must be corrected.",
                url: reply.response.url)
        }
        return offset
    }

    private func check(_ offset: Int64, at place: WebURL) throws(KindFailure) {
        guard offset <= transfer.source.size else {
            throw KindFailure(
                .sourceChanged,
                "\(place.redacted): the server has more bytes than the file; enqueue the upload as a new job.",
                url: place)
        }
    }
}
