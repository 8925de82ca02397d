import Crypto
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import OperationTypes

/// To a bucket of S3 or of a server that speaks like it: in one request, or in parts that go on where they stopped.
///
/// The address is the object's own, in either style (`https://BUCKET.HOST/KEY`, `https://HOST/BUCKET/KEY`). What is sent is signed
/// together with its digest, so the server refuses what arrives damaged.
struct S3Upload: Sendable {
    let transfer: Transfer
    let signature: S3Signature
    let createsOnly: Bool

    private static let maxParts: Int64 = 10_000

    func run() async throws(KindFailure) -> Upload.Output {
        if transfer.source.size <= transfer.configuration.partBytes * 2 { return try await single() }
        return try await multipart()
    }

    private func single() async throws(KindFailure) -> Upload.Output {
        let whole = 0..<transfer.source.size
        let digest = try await transfer.hash(ofFirst: transfer.source.size).finalize().hexadecimal
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            try await put(whole, to: transfer.url, headers: creationHeaders, digest: digest)
        }
        guard reply.response.isSuccess else { throw failure(reply) }
        return try transfer.receipt(
            reply, hash: try await transfer.hash(ofFirst: transfer.source.size), isConfirmed: true)
    }

    private func multipart() async throws(KindFailure) -> Upload.Output {
        let partBytes = max(
            transfer.configuration.partBytes, (transfer.source.size + Self.maxParts - 1) / Self.maxParts)
        let saved = try await resumed()
        var state: Checkpoint
        if let saved { state = saved } else { state = try await begun() }
        var offset = state.parts.reduce(0) { $0 + $1.bytes }
        var hash = try await transfer.hash(ofFirst: offset)
        transfer.progress.reached(offset)
        do throws(KindFailure) {
            while offset < transfer.source.size {
                let range = offset..<min(offset + partBytes, transfer.source.size)
                let number = state.parts.count + 1
                let (digest, next) = try await digest(of: range, after: hash)
                let reply = try await transfer.persisting { () async throws(KindFailure) in
                    let reply = try await put(
                        range, to: address(["partNumber": "\(number)", "uploadId": state.upload]),
                        headers: transfer.headers, digest: digest)
                    guard reply.response.isSuccess else { throw failure(reply) }
                    return reply
                }
                guard let etag = reply.response.headers["etag"].first else {
                    throw KindFailure(
                        .protocolError,
                        "\(transfer.url.redacted): the server stored a part and gave no ETag; it is no S3 server.",
                        url: transfer.url)
                }
                state.parts.append(
                    Checkpoint.Part(number: number, etag: etag, bytes: range.upperBound - range.lowerBound))
                (offset, hash) = (range.upperBound, next)
                state.offset = offset
                try await transfer.save(state)
            }
            if let failure = transfer.source.changeFailure() { throw failure }
        } catch {
            // Parts of a file that has changed are of no use, and the server would charge for them.
            if error.reason == .sourceChanged { await abort(state) }
            throw error
        }
        let reply = try await complete(state)
        transfer.checkpoint?.remove()
        return try transfer.receipt(
            reply, hash: hash, etag: S3Answer.text("ETag", in: reply.body) ?? expectedETag(state.parts),
            isConfirmed: true)
    }

    private func put(
        _ range: Range<Int64>, to url: WebURL, headers: HTTPHeaders, digest: String
    ) async throws(KindFailure) -> Transfer.Reply {
        var hash = SHA256()
        return try await transfer.send(
            Transfer.Piece(range: range), as: .PUT, to: url, headers: signed(.PUT, url, headers, payload: digest),
            hash: &hash)
    }

    private func digest(of range: Range<Int64>, after hash: SHA256) async throws(KindFailure) -> (String, SHA256) {
        let part = UploadStream(
            source: transfer.source, piece: Transfer.Piece(range: range), threads: transfer.client.threads)
        var whole = hash
        do {
            for try await buffer in part { buffer.withUnsafeReadableBytes { whole.update(bufferPointer: $0) } }
        } catch {
            throw part.failure() ?? .cancelled
        }
        return (part.hash().finalize().hexadecimal, whole)
    }

    // MARK: Begin, go on, end

    private func begun() async throws(KindFailure) -> Checkpoint {
        guard case .file(let file) = transfer.source else {
            throw KindFailure(
                .invalidInput, "`body` is too large for one request; let the job that makes it write a file.")
        }
        let url = address(["uploads": ""])
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            let reply = try await transfer.ask(
                .POST, url, headers: signed(.POST, url, creationHeaders, payload: SHA256.hash(data: Data()).hexadecimal)
            )
            guard reply.response.isSuccess else { throw failure(reply) }
            return reply
        }
        guard let id = S3Answer.text("UploadId", in: reply.body), !id.isEmpty else {
            throw KindFailure(
                .protocolError, "\(transfer.url.redacted): the server began no multipart upload; it is no S3 server.",
                url: transfer.url)
        }
        let state = Checkpoint(style: "s3", target: "\(transfer.url)", upload: id, source: file.identity, offset: 0)
        try await transfer.save(state)
        return state
    }

    /// What was noted, as far as the server agrees: the parts without a gap whose ETag and size are the same there.
    private func resumed() async throws(KindFailure) -> Checkpoint? {
        guard var saved = try transfer.savedCheckpoint(style: "s3") else { return nil }
        var stored: [Int: S3Answer.Part] = [:]
        var marker = "0"
        while true {
            let url = address(["uploadId": saved.upload, "part-number-marker": marker])
            let reply = try await transfer.persisting { () async throws(KindFailure) in
                let reply = try await transfer.ask(
                    .GET, url,
                    headers: signed(.GET, url, transfer.headers, payload: SHA256.hash(data: Data()).hexadecimal))
                if reply.status == 404 { return reply }
                guard reply.response.isSuccess else { throw failure(reply) }
                return reply
            }
            if reply.status == 404 {
                transfer.checkpoint?.remove()
                return nil
            }
            let parts = S3Answer.parts(in: reply.body)
            for part in parts { stored[part.number] = part }
            guard S3Answer.text("IsTruncated", in: reply.body) == "true", let last = parts.last,
                "\(last.number)" != marker
            else { break }
            marker = "\(last.number)"
        }
        let agreed = saved.parts.prefix { part in
            stored[part.number].map { $0.bytes == part.bytes && $0.etag == part.etag.unquoted } ?? false
        }
        saved.parts = Array(agreed)
        saved.offset = saved.parts.reduce(0) { $0 + $1.bytes }
        return saved
    }

    private func complete(_ state: Checkpoint) async throws(KindFailure) -> Transfer.Reply {
        let parts = state.parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\($0.etag.escapedForXML)</ETag></Part>"
        }.joined()
        let body = Array(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(parts)</CompleteMultipartUpload>"
                .utf8)
        let url = address(["uploadId": state.upload])
        var headers = transfer.headers
        headers.replaceOrAdd(name: "content-type", value: "application/xml")
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        let digest = SHA256.hash(data: Data(body)).hexadecimal
        var isAmbiguous = false
        for attempt in 0..<4 {
            do throws(KindFailure) {
                let reply = try await transfer.ask(
                    .POST, url, headers: signed(.POST, url, headers, payload: digest), body: body)
                // The server may answer 200 at once and tell of its failure in the body.
                if reply.response.isSuccess, S3Answer.text("Code", in: reply.body) == nil { return reply }
                if reply.status == 404, isAmbiguous, let stored = try await objectIfSame(as: state.parts) {
                    return stored
                }
                throw failure(reply)
            } catch {
                guard error.isRetryable, error.reason != .cancelled, attempt < 3 else { throw error }
                isAmbiguous = true
                do { try await Task.sleep(for: .milliseconds(250 << attempt)) } catch { throw .cancelled }
            }
        }
        throw .connectionLost(url)
    }

    /// The object, when its ETag is that of this very list of parts: the answer to its completion was lost.
    private func objectIfSame(as parts: [Checkpoint.Part]) async throws(KindFailure) -> Transfer.Reply? {
        let reply = try await transfer.ask(
            .HEAD, transfer.url,
            headers: signed(.HEAD, transfer.url, transfer.headers, payload: SHA256.hash(data: Data()).hexadecimal))
        guard reply.response.isSuccess, reply.response.headers["etag"].first?.unquoted == expectedETag(parts).unquoted
        else { return nil }
        return reply
    }

    /// S3's rule: the MD5 of the parts' MD5s, and their number.
    private func expectedETag(_ parts: [Checkpoint.Part]) -> String {
        var md5 = Insecure.MD5()
        for part in parts {
            let digits = Array(part.etag.unquoted.utf8)
            let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { index -> UInt8? in
                guard let high = hexDigit(digits[index]), let low = hexDigit(digits[index + 1]) else { return nil }
                return high << 4 | low
            }
            md5.update(data: Data(bytes))
        }
        return "\"\(md5.finalize().hexadecimal)-\(parts.count)\""
    }

    private func abort(_ state: Checkpoint) async {
        let url = address(["uploadId": state.upload])
        // Best effort: the failure that led here is the one to tell.
        _ = try? await transfer.ask(
            .DELETE, url,
            headers: signed(.DELETE, url, transfer.headers, payload: SHA256.hash(data: Data()).hexadecimal))
        transfer.checkpoint?.remove()
    }

    private var creationHeaders: HTTPHeaders {
        var headers = transfer.headers
        headers.replaceOrAdd(name: "content-type", value: transfer.contentType)
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        return headers
    }

    private func address(_ query: [String: String]) -> WebURL {
        var url = transfer.url
        let pairs = query.sorted { $0.key < $1.key }.map { name, value in
            value.isEmpty ? name : "\(name)=\(S3Signature.encoded(Array(value.utf8), keepingSlashes: false))"
        }
        url.query = ([url.query].compactMap { $0 } + pairs).joined(separator: "&")
        return url
    }

    private func signed(_ method: HTTPMethod, _ url: WebURL, _ headers: HTTPHeaders, payload: String) -> HTTPHeaders {
        signature.sign(
            method, url, headers: headers, payload: payload,
            moment: S3Signature.moment(secondsSince1970: Int64(time(nil))))
    }

    private func failure(_ reply: Transfer.Reply) -> KindFailure {
        let code = S3Answer.text("Code", in: reply.body) ?? ""
        if reply.status == 412, createsOnly {
            return KindFailure(
                .alreadyExists,
                "\(transfer.url.redacted): something is there already, and `create_only` keeps it; name another address.",
                status: 412,
                url: transfer.url)
        }
        let isRetryable = ["InternalError", "SlowDown", "RequestTimeout", "ServiceUnavailable", "OperationAborted"]
            .contains(code)
        let general = KindFailure.status(reply.response, at: transfer.url)
        if code.isEmpty || general.reason != .httpStatus { return general }
        return KindFailure(
            .httpStatus,
            "\(transfer.url.redacted): the store answered \(reply.status) \(code.printable); look this code up in its manual.",
            isRetryable: isRetryable || general.isRetryable, status: reply.status, url: transfer.url,
            retryAfter: general.retryAfter)
    }
}

/// The few facts that are read out of S3's XML.
enum S3Answer {
    struct Part: Hashable, Sendable {
        var number: Int
        var etag: String
        var bytes: Int64
    }

    /// The text of the first element of that name.
    static func text(_ element: String, in body: [UInt8]) -> String? {
        texts(in: body).first { $0.name == element }?.text
    }

    static func parts(in body: [UInt8]) -> [Part] {
        var parts: [Part] = []
        var (number, etag, bytes): (Int?, String?, Int64?)
        for (name, text) in texts(in: body) {
            switch name {
            case "PartNumber": number = Int(text)
            case "ETag": etag = text
            case "Size": bytes = Int64(text)
            default: continue
            }
            if let found = number, let tag = etag, let size = bytes {
                parts.append(Part(number: found, etag: tag.unquoted, bytes: size))
                (number, etag, bytes) = (nil, nil, nil)
            }
        }
        return parts
    }

    /// Elements that hold nothing but text, in order.
    private static func texts(in body: [UInt8]) -> [(name: String, text: String)] {
        body.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes)
            var found: [(name: String, text: String)] = []
            var open: (name: String, text: String)?
            while let token = reader.next(), found.count < 50_000 {
                switch token {
                case .start(let range): open = (reader.text(range), "")
                case .text(let range): open?.text += Entities.decode(reader.text(range))
                case .end(let range):
                    if let leaf = open, leaf.name == reader.text(range) {
                        found.append((leaf.name, leaf.text.trimmingSpaces))
                    }
                    open = nil
                case .other: break
                }
            }
            return found
        }
    }
}

extension String {
    fileprivate var unquoted: String {
        hasPrefix("\"") && hasSuffix("\"") && utf8.count >= 2 ? String(dropFirst().dropLast()) : self
    }

    fileprivate var escapedForXML: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
