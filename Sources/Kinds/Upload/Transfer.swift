import AsyncHTTPClient
import Crypto
import NIOCore
import NIOHTTP1
import OperationTypes
import Synchronization

/// One upload under way: what is sent where, with what every protocol needs for it.
struct Transfer: Sendable {
    let client: OutgoingClient
    let configuration: UploadConfiguration
    let source: UploadSource
    let url: WebURL
    /// The user's headers and credential; no content type.
    let headers: HTTPHeaders
    let contentType: String
    /// The secret as it is stored, for protocols that sign with it.
    let secret: String?
    let progress: UploadProgress
    let throttle: Throttle
    let checkpoint: CheckpointFile?
    private let manners = Manners()

    /// What was learned about the server on the way.
    private final class Manners: Sendable {
        let ignoresExpect = Mutex(false)
    }

    /// What came back, its body read as far as it is of interest.
    struct Reply: Sendable {
        let response: OutgoingResponse
        let body: [UInt8]
        var status: Int { response.status }
    }

    /// A range of the source, with bytes around it that do not count as content.
    struct Piece: Sendable {
        var range: Range<Int64>
        var prefix: [UInt8] = []
        var suffix: [UInt8] = []
        var bytes: Int64 { range.upperBound - range.lowerBound + Int64(prefix.count + suffix.count) }
    }

    /// Sends a piece and waits for the answer, whatever its status.
    ///
    /// More than 1 MiB is sent only when the server says that it wants it (`Expect: 100-continue`), or is silent for a second.
    ///
    /// - Parameters:
    ///   - hash: Of what stands before the piece; the piece is added when it was answered.
    ///   - interim: Hears what comes before the answer.
    func send(
        _ piece: Piece, as method: HTTPMethod, to url: WebURL, headers: HTTPHeaders, hash: inout SHA256,
        interim: InterimAnswers = InterimAnswers()
    ) async throws(KindFailure) -> Reply {
        let asks = piece.bytes > 1 << 20 && !manners.ignoresExpect.withLock { $0 }
        let manners = manners
        let untilWanted: @Sendable () async -> Void = {
            if await !interim.waitUntilWanted(atMost: .seconds(1)) { manners.ignoresExpect.withLock { $0 = true } }
        }
        let stream = UploadStream(
            source: source, piece: piece, hash: hash, threads: client.threads, progress: progress, throttle: throttle,
            beforeStart: asks ? untilWanted : nil)
        let body: HTTPClientRequest.Body? = piece.bytes == 0 ? nil : .stream(stream, length: .known(piece.bytes))
        var request = OutgoingRequest(
            method: method, url: url, headers: headers, body: body, isGentle: false, interim: interim)
        if asks { request.headers.replaceOrAdd(name: "expect", value: "100-continue") }
        let idle = client.configuration.limits.idle
        do throws(KindFailure) {
            let stalled = KindFailure.timeout("taking the next bytes", after: idle, at: url)
            let answer: @Sendable () async throws(KindFailure) -> Reply = { [request] () async throws(KindFailure) in
                try await self.reply(to: request)
            }
            let reply = try await withLimit(
                { await stream.turn.waitUntilStalled(for: idle) }, failure: stalled, answer)
            if let failure = source.changeFailure() { throw failure }
            if reply.status == 417, asks {
                manners.ignoresExpect.withLock { $0 = true }
                return try await send(piece, as: method, to: url, headers: headers, hash: &hash)
            }
            hash = stream.hash()
            return reply
        } catch {
            // What was read may explain why the exchange failed.
            if error.reason != .cancelled, let cause = stream.failure() ?? source.changeFailure() { throw cause }
            throw error
        }
    }

    /// Sends a request without content of the source.
    func ask(
        _ method: HTTPMethod, _ url: WebURL, headers: HTTPHeaders, body: [UInt8] = []
    ) async throws(KindFailure) -> Reply {
        let content: HTTPClientRequest.Body? = body.isEmpty ? nil : .bytes(ByteBuffer(bytes: body))
        return try await reply(
            to: OutgoingRequest(method: method, url: url, headers: headers, body: content, isGentle: false))
    }

    private func reply(to request: OutgoingRequest) async throws(KindFailure) -> Reply {
        try await client.exchange(request) { response throws(KindFailure) in
            let body = try await response.readDecoded(upTo: 1 << 20, received: 1 << 20)
            return Reply(response: response, body: body.bytes)
        }
    }

    /// Tries a step again that a retry may help: four times, a quarter of a second doubling in between.
    func persisting<T: Sendable>(_ step: () async throws(KindFailure) -> T) async throws(KindFailure) -> T {
        var wait = Duration.milliseconds(250)
        for _ in 0..<3 {
            do throws(KindFailure) {
                return try await step()
            } catch {
                guard error.isRetryable, error.reason != .cancelled, error.reason != .sourceChanged else { throw error }
                do { try await Task.sleep(for: max(wait, min(error.retryAfter ?? .zero, .seconds(5)))) } catch {
                    throw .cancelled
                }
                wait *= 2
            }
        }
        return try await step()
    }

    /// The hash of the source's first bytes, read again from the disk.
    func hash(ofFirst count: Int64) async throws(KindFailure) -> SHA256 {
        let stream = UploadStream(source: source, piece: Piece(range: 0..<count), threads: client.threads)
        do {
            for try await _ in stream {}
        } catch {
            throw stream.failure() ?? .cancelled
        }
        return stream.hash()
    }

    /// Notes how far the upload is, when somebody may go on with it later.
    func save(_ checkpoint: Checkpoint) async throws(KindFailure) {
        guard let file = self.checkpoint else { return }
        let result: Result<Void, KindFailure>
        do {
            result = try await client.threads.runAbandoningOnCancel {
                if checkpoint.offset == 0 { file.prepareFolder() }
                return Result { () throws(KindFailure) in try file.save(checkpoint) }
            }
        } catch { throw .cancelled }
        try result.get()
    }

    /// What was noted for this very source, target and protocol; nil to start from the beginning.
    func savedCheckpoint(style: String) throws(KindFailure) -> Checkpoint? {
        guard let saved = checkpoint?.load(), saved.style == style, saved.target == "\(url)" else { return nil }
        guard case .file(let file) = source, file.identity == saved.source else {
            throw KindFailure(
                .sourceChanged,
                "the file is not the one that the first part of this upload came from; enqueue the upload as a new job."
            )
        }
        return saved
    }

    func receipt(_ reply: Reply, hash: SHA256, etag: String? = nil, isConfirmed: Bool? = nil) throws(KindFailure)
        -> Upload.Output
    {
        let digest = hash.finalize()
        let isChecked: Bool
        if let isConfirmed {
            isChecked = isConfirmed
        } else {
            isChecked = try ServerDigest.check(reply.response, against: digest)
        }
        return Upload.Output(
            bytes: source.size, sha256: digest.hexadecimal, status: reply.status,
            etag: etag ?? reply.response.headers["etag"].first,
            location: reply.response.headers["location"].first.flatMap {
                // A Location that cannot be read says nothing; the upload itself is confirmed.
                try? WebURL(parsing: $0, base: reply.response.url).description
            }, address: "\(reply.response.address)", durationMs: 0,
            isChecksumConfirmed: isChecked)
    }
}
