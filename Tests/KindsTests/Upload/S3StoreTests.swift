import Crypto
import Foundation
import Jobs
import OperationTypes
import Synchronization
import Testing

@testable import Kinds

/// What moto does not do, from a store that is made for it.
@Suite struct S3StoreTests {
    private func send(
        _ count: Int, to store: PartStore, _ check: (Upload.Output, LoopbackServer) throws -> Void
    ) async throws {
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withFolder { folder in
                try Data(randomBytes(count, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let upload = Upload(client: client, configuration: configuration(folder, server))
                    let output = try await upload.result(
                        Upload.Input(
                            file: folder + "/file", to: server.origin + "/bucket/key", style: .s3, credential: "store"))
                    try check(output, server)
                }
            }
        }
    }

    @Test func partsAreSentSeveralAtOnce() async throws {
        let store = PartStore()
        try await send((12 << 20) + 1, to: store) { output, server in
            #expect(output.etag == "\"whole\"")
            let parts = store.state.withLock { $0.parts }
            #expect(parts == Dictionary(uniqueKeysWithValues: (1...13).map { ($0, $0 == 13 ? 1 : 1 << 20) }))
            #expect(server.connections > 1 && server.connections <= 5)
        }
    }

    @Test(
        arguments: [
            (1 << 30, 8 << 20, 64 << 20, 8 << 20), (16 << 30, 8 << 20, 64 << 20, 17_179_870),
            (100 << 30, 8 << 20, 64 << 20, 64 << 20), (5 << 40, 8 << 20, 64 << 20, 549_755_814),
            (10_000 * (5 << 20), 5 << 20, 5 << 20, 5 << 20), (10_000 * (5 << 20) + 1, 5 << 20, 5 << 20, (5 << 20) + 1),
        ] as [(Int64, Int64, Int64, Int64)])
    func largeFilesHaveLargeParts(size: Int64, least: Int64, chunk: Int64, part: Int64) {
        #expect(S3Multipart.partBytes(for: size, atLeast: least, chunk: chunk) == part)
        #expect((size + part - 1) / part <= 10_000)
    }

    /// Its answer was lost: the object with the ETag of this very list of parts is the proof.
    @Test func lostAnswerToTheCompletionIsSettledByTheETag() async throws {
        let store = PartStore()
        store.state.withLock { $0.losesTheAnswer = true }
        try await send(3 << 20, to: store) { output, _ in #expect(output.etag == PartStore.whole(3)) }
    }

    /// The same, when only the next attempt gets to ask.
    @Test func lostAnswerToTheCompletionIsSettledByTheNextAttempt() async throws {
        let store = PartStore()
        store.state.withLock { ($0.losesTheAnswer, $0.isSilentAboutTheObject) = (true, true) }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withFolder { folder in
                try Data(randomBytes(3 << 20, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let upload = Upload(client: client, configuration: configuration(folder, server))
                    let input = Upload.Input(
                        file: folder + "/file", to: server.origin + "/bucket/key", style: .s3, credential: "store")
                    func attempt(_ number: Int) async throws(KindFailure) -> Upload.Output {
                        try await upload.run(
                            input,
                            job: JobContext(
                                lease: Lease(job: JobID(1), attempt: number),
                                operation: OperationContext(attempt: number), onEnqueue: { _ in }))
                    }
                    let first = await failure { () async throws(KindFailure) in try await attempt(1) }
                    #expect(first?.status == 404)
                    store.state.withLock { $0.isSilentAboutTheObject = false }
                    let output = try await attempt(2)
                    #expect(output.etag == PartStore.whole(3))
                    #expect(output.sends == 0)
                    #expect(CheckpointFile(folder: folder, job: JobID(1)).load() == nil)
                }
            }
        }
    }

    /// Runs a job whose checkpoint, of this target, is there already.
    private func goOn(
        from target: String, file bytes: Int, on handler: @escaping LoopbackServer.Handler,
        _ check: (Upload.Output, LoopbackServer) throws -> Void
    ) async throws {
        try await LoopbackServer.with(handler) { server in
            try await withFolder { folder in
                try Data(randomBytes(bytes, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let configuration = configuration(folder, server)
                    let upload = Upload(client: client, configuration: configuration)
                    try CheckpointFile(folder: folder, job: JobID(1)).save(
                        Checkpoint(
                            style: "s3", target: server.origin + target, upload: "u", credential: "store",
                            source: try configuration.open(folder + "/file").identity, offset: 0, partBytes: 1 << 20))
                    let output = try await upload.run(
                        Upload.Input(
                            file: folder + "/file", to: server.origin + "/bucket/key", style: .s3, credential: "store"),
                        job: JobContext(
                            lease: Lease(job: JobID(1), attempt: 2), operation: OperationContext(attempt: 2),
                            onEnqueue: { _ in }))
                    try check(output, server)
                }
            }
        }
    }

    @Test func listOfPartsComesToAnEnd() async throws {
        let store = PartStore()
        let handler: LoopbackServer.Handler = { request in
            guard request.method == "GET" else { return store.answer(request) }
            return .text(
                "<R><IsTruncated>true</IsTruncated><Part><PartNumber>10000</PartNumber><ETag>e</ETag><Size>1</Size></Part></R>",
                type: "application/xml")
        }
        try await goOn(from: "/bucket/key", file: 3 << 20, on: handler) { output, server in
            #expect(output.bytes == 3 << 20)
            #expect(server.requests.filter { $0.method == "GET" }.count == 2)
        }
    }

    /// After a database was restored, a new job may have the number of an older one.
    @Test(arguments: [0, 1000])
    func checkpointOfAnotherTargetIsNone(bytes: Int) async throws {
        let store = PartStore()
        try await goOn(from: "/bucket/other", file: bytes, on: { store.answer($0) }) { output, server in
            #expect(output.bytes == Int64(bytes))
            #expect(server.requests.map(\.method) == ["PUT"])
        }
    }

    private func configuration(_ folder: String, _ server: LoopbackServer) -> UploadConfiguration {
        var configuration = UploadConfiguration()
        configuration.roots = [folder]
        configuration.checkpoints = folder
        configuration.partBytes = 1 << 20
        configuration.chunkBytes = 4 << 20
        configuration.credentials = { _ throws(KindFailure) in "AKIDEXAMPLE:secret" }
        configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
        return configuration
    }

    @Test(arguments: [1000, 3 << 20])
    func storeThatKnowsNoChecksumsGetsNone(count: Int) async throws {
        let store = PartStore()
        store.state.withLock { $0.refusesChecksums = true }
        try await send(count, to: store) { output, _ in
            #expect(output.bytes == Int64(count))
            #expect(!output.isChecksumConfirmed)
        }
    }
}
