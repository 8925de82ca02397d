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

/// Uploads that no job resumes are deleted at the server.
extension ResumableUploadTests {
    /// The upload stays at the server if the daemon stops the job; it is deleted if the job has ended for good.
    @Test(arguments: [Upload.Input.Style.tus, .resumable], [true, false])
    func onlyAJobThatIsOverTakesItsUploadBack(style: Upload.Input.Style, isOver: Bool) async throws {
        let store = ResumableServer()
        let stop = Signal()
        try await LoopbackServer.with { request in
            if request.method == "PATCH", store.state.withLock({ $0.stored.count }) >= 1 << 20 {
                stop.open()
                return .silence
            }
            return store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    let context = JobContext(
                        lease: Lease(job: JobID(12), attempt: 1), operation: OperationContext(),
                        isStoppedForGood: { isOver }, onEnqueue: { _ in })
                    let first = Task {
                        await failure { () async throws(KindFailure) in try await upload.run(input, job: context) }
                    }
                    await stop.wait()
                    first.cancel()
                    #expect(await first.value?.code == "cancelled")
                    #expect(store.state.withLock { $0.isForgotten } == isOver)
                    let folder = try #require(upload.configuration.checkpoints)
                    #expect((CheckpointFile(folder: folder, job: JobID(12)).load() == nil) == isOver)
                }
            }
        }
    }

    /// A body from the input, which is not a file, is resumed or deleted like a file.
    @Test(arguments: [Upload.Input.Style.tus, .resumable], [true, false])
    func bodyIsTakenBackOrGoesOn(style: Upload.Input.Style, isOver: Bool) async throws {
        let store = ResumableServer()
        let stop = Signal()
        let isBack = Mutex(false)
        try await LoopbackServer.with { request in
            if request.method == "PATCH", !isBack.withLock({ $0 }), store.state.withLock({ !$0.stored.isEmpty }) {
                stop.open()
                return .silence
            }
            return store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, _, _ in
                    let body = String(repeating: "0123456789", count: 200_000)
                    let input = Upload.Input(to: server.origin + "/files", style: style, body: body)
                    let context = JobContext(
                        lease: Lease(job: JobID(16), attempt: 1), operation: OperationContext(),
                        isStoppedForGood: { isOver }, onEnqueue: { _ in })
                    let first = Task {
                        await failure { () async throws(KindFailure) in try await upload.run(input, job: context) }
                    }
                    await stop.wait()
                    first.cancel()
                    #expect(await first.value?.code == "cancelled")
                    #expect(store.state.withLock { $0.isForgotten } == isOver)
                    guard !isOver else { return }
                    isBack.withLock { $0 = true }
                    _ = try await upload.run(input, job: context)
                    let state = store.state.withLock { $0 }
                    #expect(state.creations == 1)
                    #expect(state.stored == Array(body.utf8))
                }
            }
        }
    }

    @Test(arguments: [Upload.Input.Style.tus, .resumable], [true, false])
    func onlyAJobThatFailsForGoodTakesItsUploadBack(style: Upload.Input.Style, isLast: Bool) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            let isFull = request.method == "PATCH" && store.state.withLock { $0.stored.count } >= 1 << 20
            return isFull ? .respond(403) : store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let context = JobContext(
                        lease: Lease(job: JobID(14), attempt: 1), operation: OperationContext(),
                        isLast: { code, isRetryable in isLast && code == "unauthorized" && !isRetryable },
                        onEnqueue: { _ in })
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(
                            Upload.Input(file: file, to: server.origin + "/files", style: style), job: context)
                    }
                    #expect(failure?.code == "unauthorized")
                    #expect(store.state.withLock { $0.isForgotten } == isLast)
                    let folder = try #require(upload.configuration.checkpoints)
                    #expect((CheckpointFile(folder: folder, job: JobID(14)).load() == nil) == isLast)
                }
            }
        }
    }

    /// A deletion that the server refuses is repeated when the checkpoint is stale.
    @Test func uploadThatCannotBeTakenBackIsNotForgotten() async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            ["PATCH", "DELETE"].contains(request.method) ? .respond(403) : store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let context = JobContext(
                        lease: Lease(job: JobID(15), attempt: 1), operation: OperationContext(),
                        isLast: { _, _ in true }, onEnqueue: { _ in })
                    _ = await failure { () async throws(KindFailure) in
                        try await upload.run(
                            Upload.Input(file: file, to: server.origin + "/files", style: .tus), job: context)
                    }
                    #expect(server.requests.contains { $0.method == "DELETE" })
                    let folder = try #require(upload.configuration.checkpoints)
                    #expect(CheckpointFile(folder: folder, job: JobID(15)).load() != nil)
                }
            }
        }
    }
}
