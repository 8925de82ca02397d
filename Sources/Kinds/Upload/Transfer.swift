import Crypto
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import OperationTypes
import Synchronization
import Web
import WebSyntax

/// One upload in progress: its source, its target, and what every protocol needs to send it.
struct Transfer: Sendable {
    let client: OutgoingClient
    let configuration: UploadConfiguration
    let source: UploadSource
    let url: WebURL
    /// The user's headers and the header with the credential, but no `Content-Type`.
    let headers: HTTPHeaders
    let contentType: String
    /// The credential's secret, for protocols that sign their requests with it.
    let secret: String?
    /// The name of the credential.
    let credential: String?
    /// The header that carries the credential; nil when requests are signed with it.
    let credentialHeader: CredentialHeader?
    let secrets: Secrets
    /// The SHA-256 that the content must have. An upload of other content is never completed.
    let expected: [UInt8]?
    /// Whether an earlier attempt may have reached the server.
    let isRepeat: Bool
    /// Whether the user set headers, which may describe the content beyond its digest.
    let hasOwnHeaders: Bool
    let progress: UploadProgress
    let throttle: Throttle
    let buffers: BufferBudget
    let checkpoint: CheckpointFile?
    private let memory = Memory()

    /// State that changes during the upload.
    private final class Memory: Sendable {
        let ignoresExpect = Mutex(false)
        let underWay = Mutex<Checkpoint?>(nil)
        let sends = Mutex(0)
    }

    /// The checkpoint of an upload that has begun and is not complete; nil if there is none.
    var unfinished: Checkpoint? { memory.underWay.withLock { $0 } }

    /// A response, with its body as far as the caller needs it.
    struct Reply: Sendable {
        let response: OutgoingResponse
        let body: [UInt8]
        /// The part of the body that arrived, even if it was not needed.
        let received: ReceivedBody
        var status: Int { response.status }
    }

    /// The purpose for which a response's body is needed.
    enum BodyUse: Sendable {
        /// The head is enough. The part of the body that arrives in time is kept for the receipt.
        case none
        /// The body of a failure is needed, since it shows what is wrong.
        case failures
        /// Every body is needed, since it shows whether the request succeeded and how to continue.
        case all

        fileprivate func needsBody(of response: OutgoingResponse) -> Bool {
            switch self {
            case .none: false
            case .failures: !response.isSuccess
            case .all: true
            }
        }
    }

    /// A range of the source, with bytes before and after it that do not count as content.
    struct Piece: Sendable {
        var range: Range<Int64>
        var prefix: [UInt8] = []
        var suffix: [UInt8] = []
        var bytes: Int64 { range.upperBound - range.lowerBound + Int64(prefix.count + suffix.count) }
    }

    /// Checks whether an earlier attempt has stored this content: that attempt may have ended after the server's
    /// response but before its checkpoint. Use it only for requests that replace existing content, where it does not
    /// matter who stored it.
    ///
    /// - Parameter look: Returns the server's response about the stored content, if that content has the digest of the
    ///   source.
    /// - Returns: That response, or nil if the content must be sent.
    func storedBefore(
        _ look: () async throws(KindFailure) -> Reply?
    ) async throws(KindFailure) -> Reply? {
        guard isRepeat, !hasOwnHeaders else { return nil }
        do throws(KindFailure) {
            guard let reply = try await look(),
                reply.response.headers["content-type"].first?.lowercased() == contentType.lowercased()
            else { return nil }
            return reply
        } catch {
            // A server that fails this request may still accept the upload.
            if error.reason == .cancelled || error.reason == .sourceChanged { throw error }
            return nil
        }
    }

    /// Sends a piece, and returns the response whatever its status.
    ///
    /// A piece of more than 1 MiB is sent only after the server has asked for it (`Expect: 100-continue`), or has been
    /// silent for a second.
    ///
    /// - Parameters:
    ///   - hash: The digest of the source before the piece. When this returns, it includes the piece. Nil if no digest
    ///     is needed.
    ///   - interim: Receives the interim responses.
    ///   - use: The purpose for which the response's body is needed. A body that is not needed is empty in the reply,
    ///     and losing it is harmless.
    ///   - reports: Whether the position in the source is the progress of the upload. False for parts that are sent in
    ///     parallel.
    /// - Throws: `source_changed` if the source has changed, or the reason why there is no response.
    func send<Digest: ContentDigest>(
        _ piece: Piece, as method: HTTPMethod, to url: WebURL, headers: HTTPHeaders, hash: inout Digest?,
        interim: InterimAnswers = InterimAnswers(), body use: BodyUse = .none, reports: Bool = true
    ) async throws(KindFailure) -> Reply {
        let asks = piece.bytes > 1 << 20 && !memory.ignoresExpect.withLock { $0 }
        let memory = memory
        let untilWanted: @Sendable () async -> Void = {
            if await !interim.waitUntilWanted(atMost: .seconds(1)) { memory.ignoresExpect.withLock { $0 = true } }
        }
        let stream = UploadStream(
            source: source, piece: piece, hash: hash, expected: expected, threads: client.threads,
            progress: reports ? progress : nil,
            throttle: throttle, buffers: buffers, beforeStart: asks ? untilWanted : nil)
        memory.sends.withLock { $0 += 1 }
        let body: OutgoingBody? = piece.bytes == 0 ? nil : .stream(stream, length: piece.bytes)
        var request = OutgoingRequest(
            method: method, url: url, headers: headers, body: body, isGentle: false, interim: interim)
        if asks { request.headers.replaceOrAdd(name: "expect", value: "100-continue") }
        let idle = client.configuration.limits.idle
        do throws(KindFailure) {
            let stalled = KindFailure.timeout("sending the next bytes", after: idle, at: url)
            let answer: @Sendable () async throws(KindFailure) -> Reply = { [request] () async throws(KindFailure) in
                try await self.reply(to: request, body: use) { piece.bytes == 0 || stream.isGiven }
            }
            let reply = try await withLimit(
                { await stream.turn.waitUntilStalled(for: idle) }, failure: stalled, answer)
            // A server that does not need a small body may respond faster than the disk can be read. Its success counts
            // once the body has been read completely.
            if reply.response.isSuccess, piece.bytes > 0, piece.bytes <= 1 << 20 {
                try await withDeadline(idle, failure: stalled) { () async throws(KindFailure) in
                    await stream.waitUntilGiven()
                }
            }
            let isWhole = stream.stop() || piece.bytes == 0
            if let failure = await changeFailure(since: stream) { throw failure }
            if reply.response.isSuccess, !isWhole { throw .notAwaited(url) }
            if reply.status == 417, asks {
                memory.ignoresExpect.withLock { $0 = true }
                return try await send(
                    piece, as: method, to: url, headers: headers, hash: &hash, body: use, reports: reports)
            }
            hash = stream.hashed().digest
            return reply
        } catch {
            stream.stop()
            // If reading the source failed, that explains why the exchange failed.
            if let cause = stream.failure() { throw error.reason == .cancelled ? error : cause }
            if error.reason != .cancelled, let cause = await changeFailure(since: stream) { throw cause }
            throw error
        }
    }

    private func changeFailure<Digest: ContentDigest>(since stream: UploadStream<Digest>) async -> KindFailure? {
        let hashed = stream.hashed()
        guard let digest = hashed.digest else { return source.certainChange() }
        return await changeFailure(sha256: digest.value, ofFirst: hashed.count)
    }

    /// Checks the source on a thread that may block; see ``UploadSource/changeFailure(sha256:ofFirst:)``.
    func changeFailure(sha256: [UInt8], ofFirst count: Int64) async -> KindFailure? {
        if source.isUntouched { return nil }
        let source = source
        do {
            return try await client.threads.runAbandoningOnCancel {
                source.changeFailure(sha256: sha256, ofFirst: count)
            }
        } catch { return .cancelled }
    }

    /// The failure for content that must have another digest; nil if the digest is right or does not matter.
    func mismatch(_ digest: [UInt8]) -> KindFailure? {
        expected.flatMap { $0 == digest ? nil : .unexpectedContent }
    }

    /// Sends a request that contains nothing of the source.
    func ask(
        _ method: HTTPMethod, _ url: WebURL, headers: HTTPHeaders, body: [UInt8] = [], interim: InterimAnswers? = nil,
        answer use: BodyUse = .none
    ) async throws(KindFailure) -> Reply {
        let content: OutgoingBody? = body.isEmpty ? nil : .bytes(ByteBuffer(bytes: body))
        return try await reply(
            to: OutgoingRequest(
                method: method, url: url, headers: headers, body: content, isGentle: false, interim: interim), body: use
        ) { true }
    }

    /// - Parameter isSent: Returns whether the server has received everything that it may need before it completes its
    ///   response.
    private func reply(
        to request: OutgoingRequest, body use: BodyUse, _ isSent: @escaping @Sendable () -> Bool
    ) async throws(KindFailure) -> Reply {
        try await client.exchange(request) { response throws(KindFailure) in
            guard use.needsBody(of: response) else {
                // The body is received only so that the connection can be used again, and because the server may be
                // receiving the rest of the request meanwhile. The head has already reported the result of the request,
                // so no error here is a failure.
                let late = KindFailure.timeout(
                    "receiving the rest of the response", after: .seconds(1), at: request.url)
                let received = SharedBody()
                try? await withLimit({ await Self.wait(.seconds(1), after: isSent) }, failure: late) {
                    () async throws(KindFailure) in await response.receive(into: received, upTo: 1 << 20)
                }
                return Reply(response: response, body: [], received: received.value)
            }
            let body = try await response.readDecoded(upTo: 1 << 20, received: 1 << 20)
            return Reply(response: response, body: body.bytes, received: ReceivedBody(body))
        }
    }

    /// Waits until the request is sent, and then for `time`. The check runs only once per `time`, since a request is
    /// rarely still being sent when its response has begun.
    private static func wait(_ time: Duration, after isSent: () -> Bool) async {
        var wasSent = false
        while !wasSent, !Task.isCancelled {
            wasSent = isSent()
            // A cancelled wait ends the loop.
            try? await Task.sleep(for: time)
        }
    }

    /// Runs a step, and repeats it after failures that a retry may solve. It runs at most four times, with waits of 250
    /// ms, 500 ms and 1 s in between.
    ///
    /// If the server asks for a wait of up to five seconds, this waits that long. If it asks for more, the failure is
    /// thrown at once, and the job is retried later.
    func persisting<T: Sendable>(_ step: () async throws(KindFailure) -> T) async throws(KindFailure) -> T {
        var wait = Duration.milliseconds(250)
        for _ in 0..<3 {
            do throws(KindFailure) {
                return try await step()
            } catch {
                let asked = error.retryAfter ?? .zero
                guard error.isRetryable, error.reason != .cancelled, error.reason != .sourceChanged,
                    asked <= .seconds(5)
                else { throw error }
                do { try await Task.sleep(for: max(wait, asked)) } catch {
                    throw .cancelled
                }
                wait *= 2
            }
        }
        return try await step()
    }

    /// Returns the digest of the source's first bytes, which are read from the disk.
    ///
    /// - Parameter known: The digest of a prefix; those bytes are not read again.
    func hash(ofFirst count: Int64, goingOnFrom known: RunningDigest = RunningDigest()) async throws(KindFailure)
        -> RunningDigest
    {
        var hash = known.count <= count ? known : RunningDigest()
        if hash.count == count { return hash }
        try await read(hash.count..<count) { hash.update(bufferPointer: $0) }
        // The server received these bytes from an earlier read, and there is no digest of that read to compare them
        // with.
        if let failure = source.untouchedFailure() { throw failure }
        return hash
    }

    /// Returns the digest of a range of the source, which is read from the disk.
    func digest(of range: Range<Int64>, by algorithm: PieceChecksum) async throws(KindFailure) -> Data {
        switch algorithm {
        case .sha256: Data(try await digest(of: range, SHA256()))
        case .sha1: Data(try await digest(of: range, Insecure.SHA1()))
        case .md5: Data(try await digest(of: range, Insecure.MD5()))
        }
    }

    private func digest<Hash: HashFunction>(of range: Range<Int64>, _ empty: Hash) async throws(KindFailure)
        -> Hash.Digest
    {
        var hash = empty
        try await read(range) { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }

    /// Reads a range of the source without sending it.
    func read(_ range: Range<Int64>, _ use: (UnsafeRawBufferPointer) -> Void) async throws(KindFailure) {
        let stream = UploadStream<SHA256>(
            source: source, piece: Piece(range: range), hash: nil, expected: nil, threads: client.threads,
            buffers: buffers)
        do {
            for try await buffer in stream { buffer.withUnsafeReadableBytes(use) }
        } catch {
            throw stream.failure() ?? .cancelled
        }
    }

    /// Saves the progress of the upload, if it can be resumed later. The write is not interrupted when the task is
    /// cancelled.
    func save(_ checkpoint: Checkpoint) async throws(KindFailure) {
        memory.underWay.withLock { $0 = checkpoint }
        try await write(checkpoint, isDurable: true)
    }

    /// Records that the upload is complete, for a later attempt that runs if the process ends before the job's success
    /// is durable.
    ///
    /// For an upload in one request the record is not synced, since a sync would take most of the time of a small
    /// upload: after a power cut it may be sent again.
    func complete(_ receipt: Checkpoint.Receipt) async {
        let begun = unfinished
        var checkpoint =
            begun
            ?? Checkpoint(
                style: Checkpoint.oneRequest, target: "\(url)", upload: "\(url)", source: source.identity,
                offset: source.size)
        checkpoint.receipt = receipt
        // Losing an error is harmless: the upload has succeeded, and its result is about to be stored.
        try? await write(checkpoint, isDurable: begun != nil)
    }

    private func write(_ checkpoint: Checkpoint, isDurable: Bool) async throws(KindFailure) {
        guard let file = self.checkpoint else { return }
        let result: Result<Void, KindFailure> = await withCheckedContinuation { continuation in
            client.threads.submit { state in
                // The pool is inactive only after the client's shutdown.
                guard case .active = state else { return continuation.resume(returning: .failure(.cancelled)) }
                continuation.resume(
                    returning: Result { () throws(KindFailure) in try file.save(checkpoint, isDurable: isDurable) })
            }
        }
        try result.get()
    }

    /// Removes the checkpoint, since the server no longer has the upload or refused it: the next attempt starts over.
    func forget() {
        memory.underWay.withLock { $0 = nil }
        checkpoint?.remove()
    }

    /// Returns the saved progress for this source, target and protocol; nil to start from the beginning.
    ///
    /// - Throws: `source_changed` if there is progress, but from another source.
    func savedCheckpoint(style: String) async throws(KindFailure) -> Checkpoint? {
        guard let saved = checkpoint?.load(), saved.style == style, saved.target == "\(url)" else { return nil }
        memory.underWay.withLock { $0 = saved }
        guard try await isSource(of: saved) else {
            throw KindFailure(
                .sourceChanged,
                "the file is no longer the one whose first part was uploaded; enqueue the upload as a new job."
            )
        }
        return saved
    }

    /// Whether the source is the one that a checkpoint was written for, as far as the checkpoint's digest covers its
    /// content.
    private func isSource(of saved: Checkpoint) async throws(KindFailure) -> Bool {
        if source.identity == saved.source { return true }
        guard case .file(let file) = source, file.identity.isPerhaps(saved.source) else { return false }
        guard let digest = saved.digest else { return true }
        // S3 parts beyond the digest are read again and compared one by one.
        let now = try await hash(ofFirst: digest.count)
        return now == digest
    }

    func receipt(_ reply: Reply, digest: [UInt8], etag: String? = nil, isConfirmed: Bool? = nil) throws(KindFailure)
        -> Upload.Output
    {
        let isChecked: Bool
        if let isConfirmed {
            isChecked = isConfirmed
        } else {
            isChecked = try ServerDigest.check(reply.response, against: digest)
        }
        return Upload.Output(
            bytes: source.size, sha256: digest.hexadecimal, status: reply.status,
            etag: secrets.concealed(etag ?? reply.response.headers["etag"].first),
            location: secrets.concealed(
                reply.response.headers["location"].first.flatMap {
                    // An invalid Location is ignored; the upload itself is confirmed.
                    try? WebURL(parsing: $0, base: reply.response.url).description
                }), answer: Upload.Answer(reply.received, of: reply.response, concealing: secrets),
            address: "\(reply.response.address)", durationMs: 0, sends: memory.sends.withLock { $0 },
            isChecksumConfirmed: isChecked)
    }
}

extension KindFailure {
    static let unexpectedContent = KindFailure(
        .sourceChanged,
        "the content's SHA-256 differs from `sha256`, so it was not uploaded; check which of them is right.")

    /// The failure for a response that reports success before everything was sent.
    fileprivate static func notAwaited(_ url: WebURL) -> KindFailure {
        KindFailure(
            .connectionLost,
            "\(url.redacted): the server answered before all content was sent, so it is unknown what the server stored; try again.",
            isRetryable: true, url: url)
    }
}
