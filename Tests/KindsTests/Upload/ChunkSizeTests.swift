import Crypto
import Foundation
import Jobs
import OperationTypes
import Synchronization
import Testing

@testable import Kinds

@Suite struct ChunkSizeTests {
    /// A server in front of the server may take less than the server says.
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
                    // The whole once, then pieces of 1 MiB.
                    #expect(output.sends == 5)
                }
            }
        }
    }

    /// What the answer to OPTIONS says decides.
    @Test(
        arguments: [
            ([("upload-limit", "max-append-size=700")], ["OPTIONS", "POST", "PATCH"]),
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

    /// What the server has confirmed is not read again: a digest that goes on from other bytes shows in the receipt.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func digestGoesOnFromTheCheckpoint(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        store.state.withLock { $0.nextPatchStatus = nil }
        try await LoopbackServer.with { request in
            // The second piece is refused for good.
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
