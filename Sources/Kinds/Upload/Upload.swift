import Crypto
import Jobs
import NIOHTTP1
import OperationTypes
import Web
import WebSyntax

/// Sends a file, or the output of a dependency, to a web server.
///
/// The content is streamed in constant memory. If an interrupted upload runs again, `s3`, `tus` and `resumable`
/// continue after the bytes that the server has confirmed, provided that ``UploadConfiguration/checkpoints`` is set.
/// Otherwise everything is sent again: with PUT, that leaves the same state on the server; with POST, the server must
/// recognise the repetition.
public struct Upload: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = AnyOutput

    public static let name = "upload"
    public static let summary = "Sends a file, or the output of another job, to a web server"

    let client: OutgoingClient
    let configuration: UploadConfiguration
    /// The bandwidth limit for all uploads together.
    private let throttle: Throttle
    private let buffers: BufferBudget

    /// Creates the kind. All its uploads together keep to the configuration's limits on bandwidth and memory.
    public init(client: OutgoingClient, configuration: UploadConfiguration = UploadConfiguration()) {
        self.client = client
        self.configuration = configuration
        throttle = Throttle(bytesPerSecond: configuration.maxBytesPerSecond)
        buffers = BufferBudget(bytes: configuration.bufferBytes)
    }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        try await run(input, context: context, checkpoint: nil, isForGood: { _ in true })
    }

    public func run(_ input: Input, job: JobContext) async throws(KindFailure) -> Output {
        let checkpoint = configuration.checkpoints.map { CheckpointFile(folder: $0, job: job.lease.job) }
        return try await run(
            input, context: job.operation, checkpoint: checkpoint,
            isForGood: { job.isStoppedForGood || $0.reason != .cancelled && job.wouldEnd(with: $0) })
    }

    /// - Parameter isForGood: Whether no attempt will continue the upload after this failure.
    private func run(
        _ input: Input, context: OperationContext, checkpoint: CheckpointFile?, isForGood: (KindFailure) -> Bool
    ) async throws(KindFailure) -> Output {
        try input.check(at: .whole)
        if let earlier = checkpoint?.receipt(for: input, before: context.attempt) { return earlier }
        let deadline = input.timeout?.duration
        let transfer = try await transfer(for: input, context: context, checkpoint: checkpoint)
        let start = ContinuousClock.now
        let failure = KindFailure.timeout("the upload", after: deadline ?? .zero, at: transfer.plan.url)
        do throws(KindFailure) {
            var output = try await withDeadline(deadline, failure: failure) { () async throws(KindFailure) in
                try await send(transfer, as: input)
            }
            output.sends = transfer.sends
            output.durationMs = (ContinuousClock.now - start).milliseconds
            if let print = input.fingerprint {
                await transfer.complete(Checkpoint.Receipt(attempt: context.attempt, input: print, output: output))
            }
            return output
        } catch {
            // If the file has changed, or something already exists at the target, the bytes that the server has are
            // useless too.
            let isOver = error.reason == .sourceChanged || error.reason == .alreadyExists || isForGood(error)
            if isOver, let unfinished = transfer.unfinished {
                let isGone = await deletion.delete(unfinished)
                // Another attempt will start over. If there is none, and the server still has the upload, the
                // checkpoint stays for `cleanUp(asking:)`.
                if isGone || !isForGood(error) { transfer.forget() }
            }
            throw error
        }
    }

    var deletion: UploadDeletion { UploadDeletion(client: client, configuration: configuration) }

    private func transfer(
        for input: Input, context: OperationContext, checkpoint: CheckpointFile?
    ) async throws(KindFailure) -> Transfer {
        let url = try target(of: input)
        let secret = try input.credential.map { name throws(KindFailure) in
            try configuration.secret(named: name, for: url)
        }
        var headers = try Self.headers(of: input)
        let isSigned = input.style == .s3
        let sent = isSigned ? nil : secret.map { input.secretHeader.value($0) }
        if let sent { headers.replaceOrAdd(name: input.secretHeader.name, value: sent) }
        let region = input.region ?? S3Signature.usualRegion
        let signature = isSigned ? secret.flatMap { S3Signature(secret: $0, region: region) } : nil
        if isSigned, signature == nil { throw .missingSigner }
        let source = try await source(of: input)
        let plan = UploadPlan(
            url: url, headers: headers, contentType: try await contentType(of: input, source),
            fileName: input.fileName, source: source.identity, isFile: input.file != nil || input.kept != nil,
            createsOnly: input.createOnly ?? false, expected: try expectedDigest(of: input, source),
            isRepeat: context.attempt > 1, hasOwnHeaders: !(input.headers ?? [:]).isEmpty,
            credential: input.credential, credentialHeader: isSigned ? nil : input.secretHeader, region: region,
            secrets: secret.map { Secrets($0, sentAs: sent) } ?? Secrets.empty,
            chunkBytes: configuration.chunkBytes, partBytes: configuration.partBytes)
        return Transfer(
            client: client, plan: plan, source: source, signature: signature,
            credentialOrigins: configuration.credentialOrigins,
            progress: UploadProgress(total: source.size, context: context),
            throttle: Throttle(bytesPerSecond: input.maxRate?.bytes, within: throttle), buffers: buffers,
            checkpoint: checkpoint, deletion: deletion)
    }

    private func send(_ transfer: Transfer, as input: Input) async throws(KindFailure) -> Output {
        switch input.style ?? .plain {
        case .plain:
            return try await PlainUpload(transfer: transfer, shape: input.method == .post ? .post : .put).run()
        case .form:
            let boundary =
                "halyard-" + (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 16) }.joined()
            let shape = PlainUpload.Shape.form(
                fields: input.formFields ?? [], file: input.formField ?? "file", boundary: boundary)
            return try await PlainUpload(transfer: transfer, shape: shape).run()
        case .s3: return try await S3Upload(transfer: transfer).run()
        case .tus: return try await resumable(transfer, .tus)
        case .resumable: return try await resumable(transfer, .draft)
        case .auto:
            // tus cannot keep content that already exists.
            if let dialect = try await dialect(for: transfer), dialect == .draft || !transfer.plan.createsOnly {
                return try await resumable(transfer, dialect)
            }
            return try await PlainUpload(transfer: transfer, shape: .put).run()
        }
    }

    /// Returns the protocol for a resumable upload. An upload that has begun continues with its protocol; otherwise the
    /// server is asked. Nil if the server supports neither protocol.
    private func dialect(for transfer: Transfer) async throws(KindFailure) -> ResumableDialect? {
        let plan = transfer.plan
        if let saved = transfer.checkpoint?.load(), saved.target == "\(plan.url)",
            let dialect = ResumableDialect(rawValue: saved.style)
        {
            return dialect
        }
        let reply = try await transfer.persisting { () async throws(KindFailure) in
            let reply = try await transfer.perform(UploadRequest(.OPTIONS, plan.url, plan.headers))
            // A server that is busy or down has not answered the question. But many servers respond 500 to a method
            // that they do not know.
            let failure = KindFailure.status(reply.head, at: plan.url)
            if !reply.head.isSuccess, failure.isRetryable, reply.status != 500 { throw failure }
            return reply
        }
        let server = ResumableOffer(reply.headers)
        return server.extensions.contains("creation") ? .tus : server.knowsDraft ? .draft : nil
    }

    private func resumable(
        _ transfer: Transfer, _ dialect: ResumableDialect
    ) async throws(KindFailure) -> Output {
        let driver = UploadDriver(
            transfer: transfer, machine: ResumableUpload(plan: transfer.plan, dialect: dialect))
        if let output = try await driver.run(from: transfer.savedCheckpoint(style: dialect.rawValue)) { return output }
        return try await PlainUpload(transfer: transfer, shape: .post).run()
    }

    private func target(of input: Input) throws(KindFailure) -> WebURL {
        let url = try input.target
        // The administrator decides where a credential may be sent, even if that is over http.
        if let name = input.credential, configuration.credentialOrigins.contains(where: { $0.permits(name, at: url) }) {
            return url
        }
        return client.strictForm(of: url) ?? url
    }

    private func expectedDigest(of input: Input, _ source: UploadSource) throws(KindFailure) -> [UInt8]? {
        guard let digest = try input.digest else { return nil }
        // Content in memory and empty files are checked now, and other files while they are sent.
        switch source {
        case .file(let file) where file.size > 0: break
        case .file: if SHA256().value != digest { throw .unexpectedContent }
        case .bytes(let bytes): if Array(SHA256.hash(data: bytes)) != digest { throw .unexpectedContent }
        }
        return digest
    }

    private func source(of input: Input) async throws(KindFailure) -> UploadSource {
        if input.file == nil, input.kept == nil { return .bytes(Array((input.body ?? "").utf8)) }
        let configuration = configuration
        let opened: Result<OpenFile, KindFailure>
        do {
            opened = try await client.threads.runAbandoningOnCancel {
                Result { () throws(KindFailure) in
                    if let kept = input.kept { return try configuration.open(kept) }
                    return try configuration.open(input.file ?? "")
                }
            }
        } catch { throw .cancelled }
        return .file(try opened.get())
    }
}
