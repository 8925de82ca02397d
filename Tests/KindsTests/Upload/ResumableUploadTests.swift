import Crypto
import Foundation
import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

@Suite struct ResumableUploadTests {
    /// Passes `body` a source file of 3 MiB and 77 bytes, and an upload with small chunks and checkpoints.
    func withUpload<T>(
        _ client: OutgoingClient, _ body: (Upload, _ file: String, _ bytes: [UInt8]) async throws -> T
    ) async throws -> T {
        try await withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
            let bytes = randomBytes((3 << 20) + 77, seed: 21)
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/data.bin"))
            var configuration = UploadConfiguration()
            configuration.roots = [folder]
            configuration.checkpoints = folder + "/state"
            configuration.chunkBytes = 1 << 20
            configuration.partBytes = 5 << 20
            return try await body(Upload(client: client, configuration: configuration), folder + "/data.bin", bytes)
        }
    }

    func job(_ id: Int64) -> JobContext {
        JobContext(lease: Lease(job: JobID(id), attempt: 1), operation: OperationContext(), onEnqueue: { _ in })
    }

    private func digest(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
    }

    @Test(arguments: [Upload.Input.Style.tus, .resumable, .auto])
    func fileArrivesWholeInChunks(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let output = try await upload.run(
                        Upload.Input(file: file, to: server.origin + "/files", style: style), job: job(1))
                    #expect(output.sha256 == digest(bytes))
                    #expect(output.location == server.origin + "/files/1")
                    let state = store.state.withLock { $0 }
                    #expect(state.stored.elementsEqual(bytes))
                    #expect(state.isComplete)
                    #expect(server.requests.filter { $0.method == "PATCH" }.count == 4)
                }
            }
        }
    }

    /// The connection breaks inside a chunk: the server keeps the received bytes, and only the rest is sent.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func brokenConnectionGoesOnFromTheServersOffset(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        store.state.withLock { $0.breakAt = (1 << 20) + 300_000 }
        try await LoopbackServer.with {
            store.answer($0)
        } interrupting: {
            store.interrupts($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    var output: Upload.Output?
                    // The upload resumes within the same attempt or in the next one.
                    for _ in 0..<3 where output == nil {
                        do throws(KindFailure) { output = try await upload.run(input, job: job(2)) } catch {
                            #expect(error.isRetryable, "\(error)")
                        }
                    }
                    #expect(output?.sha256 == digest(bytes))
                    let state = store.state.withLock { $0 }
                    #expect(state.stored.elementsEqual(bytes))
                    #expect(state.creations == 1)
                    #expect(state.received == bytes.count)
                }
            }
        }
    }

    /// The new daemon has only the checkpoint.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func interruptedJobGoesOnAfterARestart(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        let stop = Signal()
        let isBack = Mutex(false)
        try await LoopbackServer.with { request in
            if request.method == "PATCH", !isBack.withLock({ $0 }), store.state.withLock({ $0.stored.count }) >= 2 << 20
            {
                stop.open()
                return .silence
            }
            return store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    let first = Task {
                        await failure { () async throws(KindFailure) in try await upload.run(input, job: job(3)) }
                    }
                    await stop.wait()
                    first.cancel()
                    #expect(await first.value?.code == "cancelled")
                    let configuration = upload.configuration
                    let saved = CheckpointFile(folder: try #require(configuration.checkpoints), job: JobID(3)).load()
                    #expect(saved?.offset == 2 << 20)
                    isBack.withLock { $0 = true }
                    let sent = store.state.withLock { $0.received }
                    let output = try await withClient { client in
                        let restarted = Upload(client: client, configuration: configuration)
                        return try await restarted.run(input, job: job(3))
                    }
                    #expect(output.sha256 == digest(bytes))
                    let state = store.state.withLock { $0 }
                    #expect(state.stored.elementsEqual(bytes))
                    #expect(state.creations == 1)
                    #expect(state.received - sent == bytes.count - 2 << 20)
                }
            }
        }
    }

    @Test func checkpointOfAnotherFileIsNotUsed() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.nextPatchStatus = 400 }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: .tus)
                    let first = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(4))
                    }
                    #expect(first?.status == 400)
                    try Data("other".utf8).write(to: URL(fileURLWithPath: file))
                    let second = await failure { () async throws(KindFailure) in
                        try await upload.run(input, job: job(4))
                    }
                    #expect(second?.code == "source_changed")
                    #expect(!store.state.withLock { $0.isComplete })
                }
            }
        }
    }

    @Test(arguments: [409, 423, 460])
    func serverThatDisagreesIsAskedForItsOffset(status: Int) async throws {
        let store = ResumableServer()
        store.state.withLock { $0.nextPatchStatus = status }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let output = try await upload.run(
                        Upload.Input(file: file, to: server.origin + "/files", style: .tus), job: job(5))
                    #expect(output.bytes == Int64(bytes.count))
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                }
            }
        }
    }

    @Test func uploadThatTheServerForgotStartsOver() async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            if request.method == "PATCH", store.state.withLock({ $0.creations == 1 && $0.stored.count >= 1 << 20 }) {
                store.state.withLock { $0.isForgotten = true }
            }
            return store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: .tus)
                    let first = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(6))
                    }
                    #expect(first?.code == "upload_expired")
                    #expect(first?.isRetryable == true)
                    _ = try await upload.run(input, job: job(6))
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                    #expect(store.state.withLock { $0.creations } == 2)
                }
            }
        }
    }

    @Test func pieceThatArrivesDamagedIsSentAgain() async throws {
        let store = ResumableServer()
        store.state.withLock { ($0.knowsChecksums, $0.damagesNextPiece) = (true, true) }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let output = try await upload.run(
                        Upload.Input(file: file, to: server.origin + "/files", style: .tus), job: job(7))
                    #expect(output.isChecksumConfirmed)
                    let state = store.state.withLock { $0 }
                    #expect(state.stored.elementsEqual(bytes))
                    #expect(state.received == bytes.count + 1 << 20)
                }
            }
        }
    }

    @Test func digestThatTheServerNamesAtTheEndIsCompared() async throws {
        for (digest, code) in [(nil, nil), ("sha-256=:AAAA:", "checksum_mismatch")] as [(String?, String?)] {
            let store = ResumableServer()
            try await LoopbackServer.with {
                store.answer($0)
            } _: { server in
                try await withClient { client in
                    try await withUpload(client) { upload, file, bytes in
                        let right = "sha-256=:\(Data(SHA256.hash(data: bytes)).base64EncodedString()):"
                        store.state.withLock { $0.digest = digest ?? right }
                        let input = Upload.Input(file: file, to: server.origin + "/files", style: .resumable)
                        if let code {
                            let failure = await failure { () async throws(KindFailure) in
                                try await upload.run(input, job: job(8))
                            }
                            #expect(failure?.code == code)
                        } else {
                            let output = try await upload.run(input, job: job(8))
                            #expect(output.isChecksumConfirmed)
                        }
                    }
                }
            }
        }
    }

    @Test func piecesKeepToTheServersLimit() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.limit = "max-append-size=700000, max-size=9000000" }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    _ = try await upload.run(
                        Upload.Input(file: file, to: server.origin + "/files", style: .resumable), job: job(9))
                    let pieces = server.requests.filter { $0.method == "PATCH" }
                    #expect(pieces.allSatisfy { $0.body.count <= 700_000 })
                    #expect(pieces.count == 5)
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                }
            }
        }
    }

    @Test func fileThatIsLargerThanTheServerTakesIsNotBegun() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.limit = "max-size=1000" }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(
                            Upload.Input(file: file, to: server.origin + "/files", style: .resumable), job: job(10))
                    }
                    #expect(failure?.code == "too_large")
                    #expect(failure?.isRetryable == false)
                    #expect(store.state.withLock { $0.received } == 0)
                }
            }
        }
    }

    /// The response is lost, but an interim response (104) named the upload's location before.
    @Test func placeThatWasToldEarlyIsUsed() async throws {
        let store = ResumableServer()
        let early = "HTTP/1.1 104 Upload Resumption Supported\r\nlocation: /files/1\r\n\r\n"
        try await LoopbackServer.with { request in
            let answer = store.answer(request)
            return request.method == "POST" ? .raw(Array(early.utf8), closes: true) : answer
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let output = try await upload.run(
                        Upload.Input(file: file, to: server.origin + "/files", style: .resumable), job: job(11))
                    #expect(output.location == server.origin + "/files/1")
                    let state = store.state.withLock { $0 }
                    #expect(state.creations == 1)
                    #expect(state.stored.elementsEqual(bytes))
                }
            }
        }
    }

    /// The daemon was killed after the last piece and before it recorded the job's result.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func uploadThatWasCompleteIsNotSentAgain(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    _ = try await upload.run(input, job: job(13))
                    let folder = try #require(upload.configuration.checkpoints)
                    try CheckpointFile(folder: folder, job: JobID(13)).save(
                        Checkpoint(
                            style: style.rawValue, target: input.to, upload: server.origin + "/files/1",
                            source: try upload.configuration.open(file).identity, offset: 3 << 20))
                    let output = try await upload.run(input, job: job(13))
                    #expect(output.sha256 == digest(bytes))
                    #expect(store.state.withLock { $0.received } == bytes.count)
                }
            }
        }
    }

    @Test func formHoldsTheFileInItsField() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let output = try await upload.result(
                        Upload.Input(file: file, to: server.origin, style: .form, formField: "the\"file"))
                    #expect(output.sha256 == digest(bytes))
                    let request = try #require(server.requests.first)
                    let type = try #require(request.header("content-type"))
                    let boundary = try #require(type.split(separator: "=").last)
                    let head =
                        "--\(boundary)\r\ncontent-disposition: form-data; name=\"the%22file\"; filename=\"data.bin\"\r\n"
                        + "content-type: application/octet-stream\r\n\r\n"
                    #expect(type.hasPrefix("multipart/form-data; boundary="))
                    #expect(request.body == Array(head.utf8) + bytes + Array("\r\n--\(boundary)--\r\n".utf8))
                }
            }
        }
    }
}
