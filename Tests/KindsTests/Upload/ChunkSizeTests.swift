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

@Suite struct ChunkSizeTests {
    /// A proxy may accept smaller requests than the server behind it announces.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func piecesBecomeSmallerWhereTheyAreTooLarge(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            request.body.count > 1 << 20 ? .respond(413) : store.answer(request)
        } _: { server in
            try await withFolder { folder in
                let bytes = randomBytes((3 << 20) + 77, seed: 4)
                try Data(bytes).write(to: URL(fileURLWithPath: folder + "/f"))
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    let output = try await Upload(client: client, configuration: configuration).result(
                        Upload.Input(file: folder + "/f", to: server.origin + "/files", style: style))
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                    // The whole file once, then pieces of 1 MiB.
                    #expect(output.sends == 5)
                }
            }
        }
    }

    /// The response to OPTIONS selects the protocol.
    @Test(
        arguments: [
            ([("upload-limit", "max-append-size=700")], ["OPTIONS", "POST", "PATCH"]),
            ([("accept-patch", "text/x, Application/Partial-Upload;q=1")], ["OPTIONS", "POST", "PATCH"]),
            ([("accept-patch", "*/*")], ["OPTIONS", "PUT"]),
            ([("tus-resumable", "1.0.0"), ("tus-extension", "termination")], ["OPTIONS", "PUT"]),
            ([], ["OPTIONS", "PUT"]),
        ] as [([(String, String)], [String])])
    func protocolIsFoundOut(headers: [(String, String)], methods: [String]) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            switch request.method {
            case "OPTIONS": .respond(204, headers)
            case "PUT": .respond(201)
            default: store.answer(request)
            }
        } _: { server in
            try await withClient { client in
                _ = try await Upload(client: client).result(
                    Upload.Input(to: server.origin + "/files", style: .auto, body: "x"))
                #expect(server.requests.map(\.method) == methods)
            }
        }
    }

    /// Many servers answer an unknown method with 500, and tus has no create-only upload.
    @Test(arguments: [(500, false), (204, true)])
    func whatNoProtocolCanDoIsPutPlainly(status: Int, createsOnly: Bool) async throws {
        try await LoopbackServer.with { request in
            request.method == "OPTIONS"
                ? .respond(status, [("tus-resumable", "1.0.0"), ("tus-extension", createsOnly ? "creation" : "none")])
                : .respond(201)
        } _: { server in
            try await withClient { client in
                _ = try await Upload(client: client).result(
                    Upload.Input(to: server.origin + "/files", style: .auto, createOnly: createsOnly, body: "x"))
                #expect(server.requests.map(\.method) == ["OPTIONS", "PUT"])
                #expect(server.requests.last?.header("if-none-match") == (createsOnly ? "*" : nil))
            }
        }
    }

    /// A temporary error of the server does not prove that it supports no protocol.
    @Test(arguments: [503, 429, nil])
    func protocolIsAskedForAgain(status: Int?) async throws {
        let store = ResumableServer()
        let isAsked = Mutex(false)
        try await LoopbackServer.with { request in
            let isFirst = isAsked.withLock { isAsked in
                defer { isAsked = true }
                return !isAsked
            }
            if isFirst { return status.map { .respond($0) } ?? .close }
            return request.method == "PUT" ? .respond(405) : store.answer(request)
        } _: { server in
            try await withClient { client in
                let output = try await Upload(client: client).result(
                    Upload.Input(to: server.origin + "/files", style: .auto, body: "hello"))
                #expect(output.bytes == 5)
                #expect(store.state.withLock { $0.stored } == Array("hello".utf8))
            }
        }
    }

    @Test func serverThatIsDownIsSentNothing() async throws {
        try await LoopbackServer.with { request in
            request.method == "OPTIONS" ? .respond(503) : .respond(201)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/files", style: .auto, body: "x"), context: OperationContext()
                    )
                }
                #expect(failure?.status == 503)
                #expect(failure?.isRetryable == true)
                #expect(server.requests.allSatisfy { $0.method == "OPTIONS" })
            }
        }
    }

    /// An interrupted upload keeps its protocol, even if the server no longer announces it.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func protocolOfTheCheckpointStands(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        let isBack = Mutex(false)
        try await LoopbackServer.with { request in
            switch request.method {
            case "OPTIONS" where isBack.withLock { $0 }: return .respond(405)
            case "OPTIONS" where style == .resumable:
                return .respond(204, [("accept-patch", "application/partial-upload")])
            case "PUT": return .respond(405)
            case "PATCH" where !isBack.withLock { $0 } && store.state.withLock { $0.stored.count } == 1 << 20:
                return .respond(403)
            default: return store.answer(request)
            }
        } _: { server in
            try await withClient { client in
                try await ResumableUploadTests().withUpload(client) { upload, file, bytes in
                    let job = ResumableUploadTests().job(41)
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: .auto)
                    let first = await failure { () async throws(KindFailure) in try await upload.run(input, job: job) }
                    #expect(first?.status == 403)
                    isBack.withLock { $0 = true }
                    _ = try await upload.run(input, job: job)
                    let state = store.state.withLock { $0 }
                    #expect(state.stored.elementsEqual(bytes))
                    #expect(state.creations == 1)
                    #expect(state.received == bytes.count)
                }
            }
        }
    }

    /// The upload resumes the digest of the checkpoint and does not read the confirmed bytes again: a forged digest
    /// appears in the result.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func digestGoesOnFromTheCheckpoint(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        store.state.withLock { $0.nextPatchStatus = nil }
        try await LoopbackServer.with { request in
            // The server refuses the second piece permanently.
            store.state.withLock { $0.stored.count } == 1 << 20 && request.method == "PATCH" && request.body.count > 99
                && store.state.withLock { $0.creations } == 1 && store.state.withLock { $0.limit } == nil
                ? .respond(400) : store.answer(request)
        } _: { server in
            try await withFolder { folder in
                let bytes = randomBytes((2 << 20) + 77, seed: 5)
                try Data(bytes).write(to: URL(fileURLWithPath: folder + "/f"))
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.checkpoints = folder
                    configuration.chunkBytes = 1 << 20
                    let upload = Upload(client: client, configuration: configuration)
                    let input = Upload.Input(file: folder + "/f", to: server.origin + "/files", style: style)
                    let job = JobContext(
                        lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(), onEnqueue: { _ in })
                    let first = await failure { () async throws(KindFailure) in try await upload.run(input, job: job) }
                    #expect(first?.status == 400)
                    let checkpoint = CheckpointFile(folder: folder, job: JobID(1))
                    var saved = try #require(checkpoint.load())
                    #expect(saved.offset == 1 << 20 && saved.digest?.count == 1 << 20)
                    var other = RunningDigest()
                    other.update(data: repeatElement(7, count: 1 << 20))
                    saved.digest = other
                    try checkpoint.save(saved)
                    store.state.withLock { $0.limit = "" }
                    let output = try await upload.run(input, job: job)
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                    let digest = SHA256.hash(data: [UInt8](repeating: 7, count: 1 << 20) + bytes[(1 << 20)...])
                    #expect(output.sha256 == digest.hexadecimal)
                }
            }
        }
    }

    @Test func pieceThatIsTooLargeEvenWhenSmallFails() async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            request.method == "PATCH" ? .respond(413) : store.answer(request)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/files", style: .tus, body: "x"), context: OperationContext())
                }
                #expect(failure?.code == "too_large")
            }
        }
    }
}
