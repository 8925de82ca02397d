import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Web
import WebSyntax

/// One upload in progress: it sends requests, reads the source and keeps the checkpoint.
struct Transfer: Sendable {
    let client: OutgoingClient
    let plan: UploadPlan
    let source: UploadSource
    /// Signs each request; nil if the credential is in a header.
    let signature: S3Signature?
    /// The origins to which the credential may be sent.
    let credentialOrigins: [CredentialOrigin]
    let progress: UploadProgress
    let throttle: Throttle
    let buffers: BufferBudget
    let checkpoint: CheckpointFile?
    let deletion: UploadDeletion
    private let memory = Memory()

    /// State that changes during the upload.
    private final class Memory: Sendable {
        struct State {
            var ignoresExpect = false
            var unfinished: Checkpoint?
            var sends = 0
        }

        let state = Mutex(State())
    }

    /// The checkpoint of an upload that has begun and is not complete; nil if there is none.
    var unfinished: Checkpoint? { memory.state.withLock(\.unfinished) }

    /// The number of requests with content.
    var sends: Int { memory.state.withLock(\.sends) }

    // MARK: Requests

    /// Performs a request whose content needs no digest, and returns the response whatever its status.
    func perform(_ request: UploadRequest) async throws(KindFailure) -> UploadReply {
        var none: RunningDigest?
        return try await perform(request, digest: &none)
    }

    /// Performs a request, and returns the response whatever its status. Follows redirects with status 307 and 308 if
    /// the request asks for it or is signed: each request is signed for the server that receives it.
    ///
    /// - Parameters:
    ///   - digest: The digest of the source before the request's content. When this returns, it includes the content.
    ///     Nil if no digest is needed.
    ///   - interim: Receives the interim responses.
    /// - Throws: `source_changed` if the source has changed, or the reason why there is no response.
    func perform<Digest: ContentDigest>(
        _ request: UploadRequest, digest: inout Digest?, interim: InterimAnswers = InterimAnswers()
    ) async throws(KindFailure) -> UploadReply {
        let begun = digest
        var next = request
        // A redirect ends the wait for `100 Continue`, and the next server must be asked again.
        var interim = interim
        for _ in 0...5 {
            digest = begun
            let reply: UploadReply
            switch request.content {
            case .bytes(let bytes):
                let body: OutgoingBody? = bytes.isEmpty ? nil : .bytes(ByteBuffer(bytes: bytes))
                reply = try await self.reply(to: outgoing(next, body, interim), request.bodyUse) { true }
            case .piece(let piece): reply = try await send(piece, of: next, &digest, interim)
            }
            guard request.followsRedirects || signature != nil, reply.status == 307 || reply.status == 308 else {
                return reply
            }
            next.url = try target(of: reply.head, from: request.url)
            interim = InterimAnswers()
        }
        throw KindFailure(.tooManyRedirects, at: request.url, "more than 5 redirects; use the final address in `to`.")
    }

    private func target(of redirect: ResponseHead, from url: WebURL) throws(KindFailure) -> WebURL {
        var target = try Redirect.target(of: redirect)
        if signature != nil { target = target.keeping(queryOf: url) }
        let isPermitted =
            signature != nil
            && credentialOrigins.contains { $0.permits(plan.credential ?? "", at: target) }
        if target.origin == plan.url.origin || isPermitted { return target }
        throw KindFailure(
            .redirectRefused,
            signature == nil
                ? "\(url.redacted): the server redirects to another server, \(target.origin); use that address in `to`."
                : "\(url.redacted): the S3 server redirects to \(target.origin), to which the credential may not be sent; use that "
                    + "address in `to`, or ask the administrator to add it to upload.credential_origins.", url: target)
    }

    private func outgoing(
        _ request: UploadRequest, _ body: OutgoingBody?, _ interim: InterimAnswers
    ) -> OutgoingRequest {
        var headers = request.headers
        if let signature { headers = signature.sign(request) }
        return OutgoingRequest(
            method: request.method, url: request.url, headers: headers, body: body, isGentle: false, interim: interim)
    }

    /// Sends a piece of the source.
    ///
    /// A piece of more than 1 MiB is sent only after the server has asked for it (`Expect: 100-continue`), or has been
    /// silent for a second.
    private func send<Digest: ContentDigest>(
        _ piece: UploadRequest.Piece, of request: UploadRequest, _ digest: inout Digest?, _ interim: InterimAnswers
    ) async throws(KindFailure) -> UploadReply {
        let url = request.url
        let asks = piece.bytes > 1 << 20 && !memory.state.withLock(\.ignoresExpect)
        let untilWanted: @Sendable () async -> Void = { [memory] in
            if await !interim.waitUntilWanted(atMost: .seconds(1)) { memory.state.withLock { $0.ignoresExpect = true } }
        }
        let stream = UploadStream(
            source: source, piece: piece, digest: digest, expected: plan.expected, threads: client.threads,
            progress: request.reportsProgress ? progress : nil, throttle: throttle, buffers: buffers,
            beforeStart: asks ? untilWanted : nil)
        memory.state.withLock { $0.sends += 1 }
        var outgoing = outgoing(request, piece.bytes == 0 ? nil : .stream(stream, length: piece.bytes), interim)
        if asks { outgoing.headers.replaceOrAdd(name: "expect", value: "100-continue") }
        let idle = client.configuration.limits.idle
        do throws(KindFailure) {
            let stalled = KindFailure.timeout("sending the next bytes", after: idle, at: url)
            let answer: @Sendable () async throws(KindFailure) -> UploadReply = {
                [outgoing] () async throws(KindFailure) in
                try await self.reply(to: outgoing, request.bodyUse) { piece.bytes == 0 || stream.isGiven }
            }
            let reply = try await withLimit(left: { stream.left(of: idle) }, failure: stalled, answer)
            // A server that does not need a small body may respond faster than the disk can be read. Its success counts
            // once the body has been read completely.
            if reply.head.isSuccess, piece.bytes > 0, piece.bytes <= 1 << 20 {
                try await withDeadline(idle, failure: stalled) { () async throws(KindFailure) in
                    await stream.waitUntilGiven()
                }
            }
            let isWhole = stream.stop() || piece.bytes == 0
            if let failure = await changeFailure(since: stream) { throw failure }
            if reply.head.isSuccess, !isWhole {
                throw KindFailure(
                    .connectionLost, at: url,
                    "the server answered before all content was sent, so it is unknown what the server stored; try again.",
                    isRetryable: true)
            }
            if reply.status == 417, asks {
                memory.state.withLock { $0.ignoresExpect = true }
                return try await send(piece, of: request, &digest, InterimAnswers())
            }
            digest = stream.hashed.digest
            return reply
        } catch {
            stream.stop()
            // If reading the source failed, that explains why the exchange failed.
            if let cause = stream.failure { throw error.reason == .cancelled ? error : cause }
            if error.reason != .cancelled, let cause = await changeFailure(since: stream) { throw cause }
            throw error
        }
    }

    /// - Parameter isSent: Returns whether the server has received everything that it may need before it completes its
    ///   response.
    private func reply(
        to request: OutgoingRequest, _ bodyUse: UploadRequest.BodyUse, _ isSent: @escaping @Sendable () -> Bool
    ) async throws(KindFailure) -> UploadReply {
        try await client.exchange(request) { response throws(KindFailure) in
            guard bodyUse.needsBody(of: response.head) else {
                // The body is received only so that the connection can be used again, and because the server may be
                // receiving the rest of the request meanwhile. The head has already reported the result of the request,
                // so no error here is a failure.
                let late = KindFailure.timeout(
                    "receiving the rest of the response", after: .seconds(1), at: request.url)
                let received = SharedBody()
                // The limit begins when the request is sent. That is checked only once per second, since a request is
                // rarely still being sent when its response has begun.
                let wasSent = Mutex(false)
                let left: @Sendable () -> Duration = {
                    wasSent.withLock { wasSent in
                        defer { wasSent = isSent() }
                        return wasSent ? .zero : .seconds(1)
                    }
                }
                // An error ends only the connection, as above.
                try? await withLimit(left: left, failure: late) { () async throws(KindFailure) in
                    await response.receive(into: received, upTo: 1 << 20)
                }
                return UploadReply(head: response.head, received: received.value)
            }
            let body = try await response.readDecoded(upTo: 1 << 20, received: 1 << 20)
            return UploadReply(head: response.head, body: body.bytes, received: ReceivedBody(body))
        }
    }

    /// Runs a step, and repeats it after failures that a retry may solve.
    func persisting<T: Sendable>(_ step: () async throws(KindFailure) -> T) async throws(KindFailure) -> T {
        var retries = Retries()
        while true {
            do throws(KindFailure) { return try await step() } catch {
                guard let wait = retries.wait(after: error) else { throw error }
                do { try await Task.sleep(for: wait) } catch { throw .cancelled }
            }
        }
    }

    // MARK: Checkpoint

    /// Saves the progress of the upload, if it can be resumed later. The write is not interrupted when the task is
    /// cancelled.
    func save(_ checkpoint: Checkpoint) async throws(KindFailure) {
        var checkpoint = checkpoint
        checkpoint.source = source.identity
        memory.state.withLock { $0.unfinished = checkpoint }
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
                style: Checkpoint.oneRequest, target: "\(plan.url)", upload: "\(plan.url)", source: source.identity,
                offset: plan.size)
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
        memory.state.withLock { $0.unfinished = nil }
        checkpoint?.remove()
    }

    /// Returns the saved progress for this source, target and protocol; nil to start from the beginning.
    ///
    /// - Throws: `source_changed` if there is progress, but from another source.
    func savedCheckpoint(style: String) async throws(KindFailure) -> Checkpoint? {
        guard let saved = checkpoint?.load(), saved.style == style, saved.target == "\(plan.url)" else { return nil }
        memory.state.withLock { $0.unfinished = saved }
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
        let prefix = SourceRead(range: 0..<digest.count, digest: RunningDigest(), mustBeUntouched: true)
        return try await read(prefix).whole == digest
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
