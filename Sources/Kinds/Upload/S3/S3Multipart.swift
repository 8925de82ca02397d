import Crypto
import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// Uploads a large object in parts, several at once. After an interruption, it sends only the parts that the server
/// lacks.
///
/// 1. A part is recorded after the server has confirmed it.
/// 2. A recorded part counts only if the server's own list contains it.
/// 3. The digest of the object is recorded as far as the server has every part, and is continued from there. The source
///    is read again after that point, and a part whose content has changed ends the upload.
struct S3Multipart: Sendable {
    let s3: S3Upload

    private static let maxParts: Int64 = 10_000

    /// Returns the size of a part, which is at least `least` bytes. It is larger if the object would otherwise have
    /// more parts than S3 accepts. It is also larger, up to `chunk` bytes, if the object would have more than a
    /// thousand parts: the checkpoint lists all parts, and is rewritten at the end of each part.
    static func partBytes(for size: Int64, atLeast least: Int64, chunk: Int64) -> Int64 {
        max(least, (size + maxParts - 1) / maxParts, min((size + 999) / 1000, chunk))
    }

    private var transfer: Transfer { s3.transfer }
    private var size: Int64 { transfer.source.size }

    func run() async throws(KindFailure) -> Upload.Output {
        var state: Checkpoint
        switch try await resumed() {
        case .goesOn(let saved): state = saved
        case .isDone(let reply, let saved):
            // Sends nothing, since the server has every part; reads and compares the bytes that the checkpoint's digest
            // does not cover.
            let (state, hash) = try await sendParts(saved)
            return try await end(reply, state, hash: hash)
        case .none: state = try await begun()
        }
        let hash: RunningDigest
        (state, hash) = try await sendParts(state)
        let digest = hash.value
        if let failure = transfer.mismatch(digest) { throw failure }
        if let failure = await transfer.changeFailure(sha256: digest, ofFirst: size) { throw failure }
        return try await end(try await complete(state), state, hash: hash)
    }

    private func end(
        _ reply: Transfer.Reply, _ state: Checkpoint, hash: RunningDigest
    ) async throws(KindFailure) -> Upload.Output {
        let named =
            reply.response.headers["x-amz-checksum-sha256"].first ?? S3Answer.text("ChecksumSHA256", in: reply.body)
        if let named, let expected = expectedChecksum(state), named.contains("-"), named != expected {
            throw KindFailure(
                .checksumMismatch,
                "\(transfer.url.redacted): the S3 server assembled something other than what was sent; upload it again.",
                isRetryable: true, status: reply.status, url: transfer.url)
        }
        let etag = S3Answer.text("ETag", in: reply.body) ?? reply.response.headers["etag"].first
        return try transfer.receipt(
            reply, digest: hash.value, etag: etag ?? expectedETag(state.parts),
            isConfirmed: state.parts.allSatisfy(\.isConfirmed))
    }

    // MARK: Parts

    private func sendParts(_ begun: Checkpoint) async throws(KindFailure) -> (Checkpoint, RunningDigest) {
        let partBytes = begun.partBytes ?? transfer.configuration.partBytes
        let count = Int((size + partBytes - 1) / partBytes)
        // Together, the parts in progress are at most as large as one chunk, since an interruption may force all of
        // them to be sent again.
        let atOnce = Int(max(1, min(4, transfer.configuration.chunkBytes / partBytes)))
        transfer.progress.reached(begun.offset)
        let result = await withTaskGroup(of: Result<Checkpoint.Part, KindFailure>.self) { group in
            var state = begun
            state.digest = begun.digestOfWholeParts(of: partBytes, upTo: size)
            var whole = state.digest ?? RunningDigest()
            let known = Int((whole.count + partBytes - 1) / partBytes)
            /// The digest of the object at the end of each part that was read and that the server may not have yet, by
            /// the part's number.
            var digests: [Int: RunningDigest] = [:]
            var running = 0
            do throws(KindFailure) {
                for number in stride(from: known + 1, through: count, by: 1) {
                    let range = Int64(number - 1) * partBytes..<min(Int64(number) * partBytes, size)
                    var part = SHA256()
                    try await transfer.read(range) { bytes in
                        whole.update(bufferPointer: bytes)
                        part.update(bufferPointer: bytes)
                    }
                    digests[number] = whole
                    let digest = Array(part.finalize())
                    if let done = state.parts.first(where: { $0.number == number }) {
                        guard done.sha256 == digest.hexadecimal else { throw changed() }
                        state.take(&digests, of: partBytes)
                        continue
                    }
                    if running == atOnce {
                        try await keep(await group.next(), in: &state, &digests, of: partBytes)
                        running -= 1
                    }
                    let (id, hasChecksum) = (state.upload, state.hasChecksums ?? false)
                    group.addTask {
                        do throws(KindFailure) {
                            return .success(
                                try await send(number, range, digest, of: id, hasChecksum: hasChecksum))
                        } catch {
                            return .failure(error)
                        }
                    }
                    running += 1
                }
                while running > 0 {
                    try await keep(await group.next(), in: &state, &digests, of: partBytes)
                    running -= 1
                }
                return Result<(Checkpoint, RunningDigest), KindFailure>.success((state, whole))
            } catch {
                group.cancelAll()
                // Parts that other tasks have completed meanwhile need not be sent again.
                while let next = await group.next() {
                    if case .success(let part) = next { state.add(part) }
                }
                if error.reason != .sourceChanged {
                    do throws(KindFailure) { try await transfer.save(state) } catch { return .failure(error) }
                }
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func keep(
        _ result: Result<Checkpoint.Part, KindFailure>?, in state: inout Checkpoint,
        _ digests: inout [Int: RunningDigest], of partBytes: Int64
    ) async throws(KindFailure) {
        guard let part = try result?.get() else { return }
        state.add(part)
        state.take(&digests, of: partBytes)
        try await transfer.save(state)
        transfer.progress.reached(state.offset)
    }

    private func send(
        _ number: Int, _ range: Range<Int64>, _ digest: [UInt8], of id: String, hasChecksum: Bool
    ) async throws(KindFailure) -> Checkpoint.Part {
        let url = transfer.url.adding(["partNumber": "\(number)", "uploadId": id])
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            let reply = try await s3.put(
                range, to: url, headers: transfer.headers, digest: digest, hasChecksum: hasChecksum, reports: false)
            guard reply.response.isSuccess else { throw s3.failure(reply) }
            return reply
        }
        guard let etag = reply.response.headers["etag"].first else {
            throw KindFailure(
                .protocolError,
                "\(transfer.url.redacted): the server stored a part but returned no ETag; check that it is an S3 server.",
                url: transfer.url)
        }
        return Checkpoint.Part(
            number: number, etag: etag, bytes: range.upperBound - range.lowerBound, sha256: digest.hexadecimal,
            isConfirmed: try ServerDigest.check(reply.response, against: digest))
    }

    private func changed() -> KindFailure {
        KindFailure(
            .sourceChanged,
            "the file is no longer the one whose first parts were uploaded; enqueue the upload as a new job.")
    }

    // MARK: Begin, resume, complete

    private func begun() async throws(KindFailure) -> Checkpoint {
        guard case .file(let file) = transfer.source else {
            throw KindFailure(
                .invalidInput, "`body` is too large for one request; let the job that produces it write a file.")
        }
        let (id, hasChecksums) = try await S3Creation(s3: s3).run()
        let state = Checkpoint(
            style: "s3", target: "\(transfer.url)", upload: id, credential: transfer.credential,
            region: s3.signature.region, source: file.identity, offset: 0,
            partBytes: Self.partBytes(
                for: size, atLeast: transfer.configuration.partBytes, chunk: transfer.configuration.chunkBytes),
            hasChecksums: hasChecksums)
        try await transfer.save(state)
        return state
    }

    private enum Resumption {
        case none
        case goesOn(Checkpoint)
        /// The upload is complete, but the response that confirmed it was lost.
        case isDone(Transfer.Reply, Checkpoint)
    }

    /// Returns the saved progress, as far as the server confirms it: the parts that have the same ETag and size at the
    /// server.
    private func resumed() async throws(KindFailure) -> Resumption {
        guard var saved = try await transfer.savedCheckpoint(style: "s3"), saved.partBytes != nil else { return .none }
        var stored: [Int: S3Answer.Part] = [:]
        var marker = 0
        while true {
            let url = transfer.url.adding(["uploadId": saved.upload, "part-number-marker": "\(marker)"])
            let reply = try await transfer.persisting { () async throws(KindFailure) in
                let reply = try await s3.ask(.GET, url)
                guard reply.response.isSuccess || reply.status == 404 else { throw s3.failure(reply) }
                return reply
            }
            if reply.status == 404 {
                if saved.offset == size, let there = try await objectIfSame(as: saved.parts) {
                    return .isDone(there, saved)
                }
                transfer.forget()
                return .none
            }
            let parts = S3Answer.parts(in: reply.body)
            for part in parts { stored[part.number] = part }
            // The part numbers must rise and are limited, so that the loop ends.
            guard S3Answer.text("IsTruncated", in: reply.body) == "true", let last = parts.last?.number,
                last > marker, last <= Int(Self.maxParts)
            else { break }
            marker = last
        }
        saved.keep { part in
            stored[part.number].map { $0.bytes == part.bytes && $0.etag == part.etag.unquoted } ?? false
        }
        return .goesOn(saved)
    }

    private func complete(_ state: Checkpoint) async throws(KindFailure) -> Transfer.Reply {
        let hasChecksums = state.hasChecksums ?? false
        let parts = state.parts.map { part in
            let checksum = hasChecksums ? Data(part.sha256.bytesFromHexadecimal).base64EncodedString() : nil
            return "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(part.etag.escapedForXML)</ETag>"
                + (checksum.map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" } ?? "") + "</Part>"
        }.joined()
        let body = Array(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(parts)</CompleteMultipartUpload>"
                .utf8)
        let url = transfer.url.adding(["uploadId": state.upload])
        var headers = s3.marked(transfer.headers)
        headers.replaceOrAdd(name: "content-type", value: "application/xml")
        var isAmbiguous = transfer.isRepeat
        return try await transfer.persisting { () async throws(KindFailure) in
            do throws(KindFailure) {
                let reply = try await s3.ask(.POST, url, headers: headers, body: body)
                // The server may respond 200 at once, and report a failure in the body.
                if reply.response.isSuccess, S3Answer.text("Code", in: reply.body) == nil { return reply }
                if reply.status == 404 || reply.status == 412, isAmbiguous,
                    let there = try await objectIfSame(as: state.parts)
                {
                    // With 412, the parts that this attempt sent again still belong to an unfinished upload, which is
                    // no longer needed.
                    if reply.status == 412 {
                        await Abandonment(client: transfer.client, configuration: transfer.configuration).abandon(state)
                    }
                    return there
                }
                throw s3.failure(reply)
            } catch {
                isAmbiguous = isAmbiguous || error.isRetryable
                throw error
            }
        }
    }

    /// Returns the response about the object, if its ETag belongs to exactly this list of parts; nil otherwise.
    private func objectIfSame(as parts: [Checkpoint.Part]) async throws(KindFailure) -> Transfer.Reply? {
        let reply = try await s3.ask(.HEAD, transfer.url)
        guard reply.response.isSuccess, reply.response.headers["etag"].first?.unquoted == expectedETag(parts).unquoted
        else { return nil }
        return reply
    }

    /// The ETag that S3 gives the object: the MD5 of the parts' MD5s, followed by the number of parts.
    private func expectedETag(_ parts: [Checkpoint.Part]) -> String {
        var md5 = Insecure.MD5()
        for part in parts { md5.update(data: part.etag.unquoted.bytesFromHexadecimal) }
        return "\"\(md5.finalize().hexadecimal)-\(parts.count)\""
    }

    /// The object's checksum by the same rule, with SHA-256; nil if the parts have no checksums.
    private func expectedChecksum(_ state: Checkpoint) -> String? {
        guard state.hasChecksums == true else { return nil }
        var sha256 = SHA256()
        for part in state.parts { sha256.update(data: part.sha256.bytesFromHexadecimal) }
        return "\(Data(sha256.finalize()).base64EncodedString())-\(state.parts.count)"
    }
}

extension Checkpoint {
    fileprivate mutating func add(_ part: Part) {
        parts.removeAll { $0.number == part.number }
        parts.insert(part, at: parts.firstIndex { $0.number > part.number } ?? parts.endIndex)
        offset = parts.reduce(0) { $0 + $1.bytes }
    }

    /// Advances the digest over the parts that follow it without a gap.
    fileprivate mutating func take(_ digests: inout [Int: RunningDigest], of partBytes: Int64) {
        var number = Int((digest?.count ?? 0) / partBytes) + 1
        while let next = digests[number], parts.contains(where: { $0.number == number }) {
            digest = next
            digests[number] = nil
            number += 1
        }
    }

    /// Returns the checkpoint's digest, if it ends with a part and the server has every part up to there; nil
    /// otherwise.
    fileprivate func digestOfWholeParts(of partBytes: Int64, upTo size: Int64) -> RunningDigest? {
        guard let digest, digest.count <= size, digest.count == size || digest.count % partBytes == 0 else {
            return nil
        }
        let numbers = Set(parts.map(\.number))
        return (0..<(digest.count + partBytes - 1) / partBytes).allSatisfy { numbers.contains(Int($0) + 1) }
            ? digest : nil
    }

    fileprivate mutating func keep(where isKept: (Part) -> Bool) {
        parts = parts.filter(isKept)
        offset = parts.reduce(0) { $0 + $1.bytes }
    }
}
