import Crypto
import NIOCore
import NIOHTTP1
import NIOPosix
import Web
import WebSyntax

/// Reading and checking the source.
extension Transfer {
    /// Reads a range of the source without sending it.
    func read(_ read: SourceRead) async throws(KindFailure) -> SourceDigests {
        var hash = read.algorithm?.hash
        var whole = read.digest
        let stream = UploadStream<SHA256>(
            source: source, piece: UploadRequest.Piece(range: read.range), digest: nil, expected: nil,
            threads: client.threads, buffers: buffers)
        do {
            for try await buffer in stream {
                buffer.withUnsafeReadableBytes {
                    whole?.update(bufferPointer: $0)
                    hash?.update(bufferPointer: $0)
                }
            }
        } catch {
            throw stream.failure ?? .cancelled
        }
        if read.mustBeUntouched, let failure = source.untouchedFailure() { throw failure }
        return SourceDigests(range: hash.map { $0.bytes } ?? [], whole: whole)
    }

    /// Returns the digest of a range of the source, which is read from the disk.
    func digest(of range: Range<Int64>, by algorithm: PieceChecksum) async throws(KindFailure) -> [UInt8] {
        try await read(SourceRead(range: range, algorithm: algorithm)).range
    }

    /// Content that the server has, and that is the same as the source.
    struct Stored: Sendable {
        let reply: UploadReply
        let digest: [UInt8]
    }

    /// Checks whether an earlier attempt has stored this content: that attempt may have ended after the server's
    /// response but before its checkpoint. Use it only for requests that replace existing content, where it does not
    /// matter who stored it.
    ///
    /// - Returns: Nil if the content must be sent.
    func storedBefore(_ digest: [UInt8]? = nil) async throws(KindFailure) -> Stored? {
        guard plan.isRepeat, !plan.hasOwnHeaders, !plan.createsOnly else { return nil }
        do throws(KindFailure) {
            guard let stored = try await stored(at: plan.url, digest),
                stored.reply.headers["content-type"].first?.lowercased() == plan.contentType.lowercased()
            else { return nil }
            return stored
        } catch {
            // A server that fails this request may still accept the upload.
            if error.reason == .cancelled || error.reason == .sourceChanged { throw error }
            return nil
        }
    }

    /// Compares the stored content with the source, by its SHA-256, or by an ETag that is an MD5.
    ///
    /// - Parameter digest: The SHA-256 of the source, if it is known.
    /// - Returns: Nil if it differs, or if the server does not report what to compare.
    /// - Throws: The failure of the request, also if the server is busy.
    func stored(at url: WebURL, _ digest: [UInt8]? = nil) async throws(KindFailure) -> Stored? {
        var request = UploadRequest(.HEAD, url, plan.headers)
        if signature == nil {
            request.headers.add(name: "want-repr-digest", value: "sha-256=10")
        } else {
            request.headers.replaceOrAdd(name: "x-amz-checksum-mode", value: "ENABLED")
        }
        let reply = try await perform(request)
        // A server that is busy has not said what it stores.
        let failure = KindFailure.status(reply.head, at: url)
        if !reply.head.isSuccess, failure.isRetryable { throw failure }
        let etag = reply.headers["etag"].first?.unquoted
        guard reply.head.isSuccess,
            ServerDigest.isSame(reply.head, as: [], isHead: true) != nil || etag?.utf8.count == 32
        else { return nil }
        let whole = 0..<plan.size
        var sha256 = digest ?? []
        if digest == nil { sha256 = try await self.digest(of: whole, by: .sha256) }
        var isSame = ServerDigest.isSame(reply.head, as: sha256, isHead: true)
        if isSame == nil { isSame = try await self.digest(of: whole, by: .md5).hexadecimal == etag }
        return isSame == true ? Stored(reply: reply, digest: sha256) : nil
    }

    /// Throws if the content has another digest than it must have, or if the source has changed.
    func verify(_ digest: [UInt8], ofFirst count: Int64) async throws(KindFailure) {
        if let failure = mismatch(digest) { throw failure }
        if let failure = await changeFailure(sha256: digest, ofFirst: count) { throw failure }
    }

    /// The failure for content that must have another digest; nil if the digest is right or does not matter.
    func mismatch(_ digest: [UInt8]) -> KindFailure? {
        plan.expected.flatMap { $0 == digest ? nil : .unexpectedContent }
    }

    /// The failure for a source that has changed since the stream began to read it; nil otherwise.
    func changeFailure<Digest: ContentDigest>(since stream: UploadStream<Digest>) async -> KindFailure? {
        let hashed = stream.hashed
        guard let digest = hashed.digest else { return source.certainChange() }
        return await changeFailure(sha256: digest.value, ofFirst: hashed.count)
    }

    /// Checks the source on a thread that may block; see ``UploadSource/changeFailure(sha256:ofFirst:)``.
    private func changeFailure(sha256: [UInt8], ofFirst count: Int64) async -> KindFailure? {
        if source.isUntouched { return nil }
        let source = source
        do {
            return try await client.threads.runAbandoningOnCancel {
                source.changeFailure(sha256: sha256, ofFirst: count)
            }
        } catch { return .cancelled }
    }
}

extension PieceChecksum {
    fileprivate var hash: any HashFunction {
        switch self {
        case .sha256: SHA256()
        case .sha1: Insecure.SHA1()
        case .md5: Insecure.MD5()
        }
    }
}

extension HashFunction {
    fileprivate var bytes: [UInt8] { Array(finalize()) }
}

extension KindFailure {
    static let unexpectedContent = KindFailure(
        .sourceChanged,
        "the content's SHA-256 differs from `sha256`, so it was not uploaded; check which of them is right.")
}
