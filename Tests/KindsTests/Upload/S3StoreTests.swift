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

/// Behaviour that moto lacks, tested with a store of our own.
@Suite struct S3StoreTests {
    private func send(
        _ count: Int, to store: PartStore, createOnly: Bool? = nil,
        _ check: (Upload.Output, LoopbackServer) throws -> Void
    ) async throws {
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withFolder { folder in
                try Data(randomBytes(count, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let upload = Upload(client: client, configuration: PartStore.configuration(folder, server))
                    let output = try await upload.result(
                        Upload.Input(
                            file: folder + "/file", to: server.origin + "/bucket/key", style: .s3, credential: "store",
                            createOnly: createOnly))
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
        #expect(S3Parts.partBytes(for: size, atLeast: least, chunk: chunk) == part)
        #expect((size + part - 1) / part <= 10_000)
    }

    /// The response to the completion was lost; the object's ETag, computed from the list of parts, proves the success.
    @Test func lostAnswerToTheCompletionIsSettledByTheETag() async throws {
        let store = PartStore()
        store.state.withLock { $0.losesTheAnswer = true }
        try await send(3 << 20, to: store) { output, _ in #expect(output.etag == PartStore.whole(3)) }
    }

    /// The first attempt cannot ask for the object, so the next attempt finds it.
    @Test func lostAnswerToTheCompletionIsSettledByTheNextAttempt() async throws {
        let store = PartStore()
        store.state.withLock { ($0.losesTheAnswer, $0.isSilentAboutTheObject) = (true, true) }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            try await withFolder { folder in
                try Data(randomBytes(3 << 20, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let upload = Upload(client: client, configuration: PartStore.configuration(folder, server))
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
                    #expect(CheckpointFile(folder: folder, job: JobID(1)).load()?.receipt?.output == output)
                }
            }
        }
    }

    /// Runs a job that already has a checkpoint for `target`.
    private func goOn(
        from target: String, file bytes: Int, on handler: @escaping LoopbackServer.Handler,
        _ check: (Upload.Output, LoopbackServer) throws -> Void
    ) async throws {
        try await LoopbackServer.with(handler) { server in
            try await withFolder { folder in
                try Data(randomBytes(bytes, seed: 1)).write(to: URL(fileURLWithPath: folder + "/file"))
                try await withClient { client in
                    let configuration = PartStore.configuration(folder, server)
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

    /// A new job may have the number of an older one after the database was restored.
    @Test(arguments: [0, 1000])
    func checkpointOfAnotherTargetIsNone(bytes: Int) async throws {
        let store = PartStore()
        try await goOn(from: "/bucket/other", file: bytes, on: { store.answer($0) }) { output, server in
            #expect(output.bytes == Int64(bytes))
            // The second attempt first checks whether an earlier one has stored the object.
            #expect(server.requests.map(\.method) == ["HEAD", "PUT"])
        }
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

    /// S3 supports `If-None-Match` only in the requests that create the object.
    @Test(arguments: [1000, 3 << 20]) func onlyWhatMakesTheObjectSaysCreateOnly(count: Int) async throws {
        let store = PartStore()
        try await send(count, to: store, createOnly: true) { output, server in
            #expect(output.bytes == Int64(count))
            let marked = server.requests.filter { $0.header("if-none-match") == "*" }
            #expect(marked.map(\.method) == [count == 1000 ? "PUT" : "POST"])
            #expect(marked.first?.target.contains("uploads") == false)
            // A refusal of the header would have been mistaken for a refusal of checksums.
            #expect(
                server.requests.filter { $0.method == "PUT" }.allSatisfy { $0.header("x-amz-checksum-sha256") != nil })
        }
    }

    @Test func createOnlySendsNothingOfALargeFileForATakenName() async throws {
        let store = PartStore()
        store.state.withLock { $0.isComplete = true }
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            let failure = try await S3Attempt(server, bytes: 3 << 20, createOnly: true).failure()
            #expect(failure?.code == "already_exists")
            #expect(server.requests.map(\.method) == ["HEAD"])
        }
    }

    /// A cut-off 200 may contain an error, so the completion is requested again and the existing object decides.
    @Test func completionIsReadWhole() async throws {
        let store = PartStore()
        try await LoopbackServer.with { request in
            let answer = store.answer(request)
            guard request.method == "POST", request.target.contains("uploadId"), case .respond(200, _, _) = answer
            else {
                return answer
            }
            return .raw(Array("HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n<Err".utf8), closes: true)
        } _: { server in
            let output = try await S3Attempt(server, bytes: 3 << 20).output()
            #expect(output.etag == PartStore.whole(3))
        }
    }

    @Test func partIsSettledByTheHeadOfItsAnswer() async throws {
        let store = PartStore()
        try await LoopbackServer.with { request in
            let answer = store.answer(request)
            guard request.method == "PUT", case .respond(200, _, _) = answer else { return answer }
            return .raw(
                Array("HTTP/1.1 200 X\r\netag: \(PartStore.etag)\r\ncontent-length: 100\r\n\r\nx".utf8), closes: true)
        } _: { server in
            let output = try await S3Attempt(server, bytes: 3 << 20).output()
            #expect(output.sends == 3)
        }
    }

    // MARK: The wait that the server asks for

    @Test(arguments: [1000, 3 << 20]) func longWaitIsLeftToTheJob(count: Int) async throws {
        try await LoopbackServer.with { request in
            request.method == "HEAD" ? .respond(404) : .respond(503, [("retry-after", "60")])
        } _: { server in
            let failure = try await S3Attempt(server, bytes: count).failure()
            #expect(failure?.isRetryable == true && failure?.retryAfter == .seconds(60))
            #expect(server.requests.count == 1)
        }
    }

    @Test func shortWaitIsWaitedForAtOnce() async throws {
        let store = PartStore()
        let isFirst = Mutex(true)
        try await LoopbackServer.with { request in
            let refuses = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return refuses ? .respond(503, [("retry-after", "1")]) : store.answer(request)
        } _: { server in
            let start = ContinuousClock.now
            let output = try await S3Attempt(server, bytes: 1000).output()
            #expect(output.sends == 2)
            #expect(ContinuousClock.now - start >= .seconds(1))
        }
    }
}
