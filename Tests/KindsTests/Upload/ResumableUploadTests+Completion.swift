import Foundation
import Jobs
import OperationTypes
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Only the server's responses determine the offset and the completion of an upload.
extension ResumableUploadTests {
    private func run(
        _ store: ResumableServer, style: Upload.Input.Style = .resumable,
        handler: (@Sendable (LoopbackServer.Request) -> LoopbackServer.Answer)? = nil,
        _ body: (LoopbackServer, Upload, Upload.Input, _ bytes: [UInt8]) async throws -> Void
    ) async throws {
        try await LoopbackServer.with { request in
            handler?(request) ?? store.answer(request)
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, bytes in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    try await body(server, upload, input, bytes)
                }
            }
        }
    }

    /// A success response without an offset does not prove that the piece was stored.
    @Test(arguments: [true, false])
    func halfOfAPieceIsNotTakenForTheWhole(namesCompletion: Bool) async throws {
        let store = ResumableServer()
        store.state.withLock { ($0.keepsHalf, $0.namesOffset, $0.namesCompletion) = (true, false, namesCompletion) }
        try await run(store) { _, upload, input, bytes in
            let failure = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(31)) }
            // The server never stores the last byte.
            #expect(failure?.code == "connection_lost")
            #expect(store.state.withLock { $0.stored.elementsEqual(bytes.prefix($0.stored.count)) })
            store.state.withLock { $0.keepsHalf = false }
            let output = try await upload.run(input, job: job(31))
            #expect(output.bytes == Int64(bytes.count))
            let state = store.state.withLock { $0 }
            #expect(state.stored.elementsEqual(bytes))
            #expect(state.isComplete && state.creations == 1)
        }
    }

    @Test func endThatIsKeptInPartIsNotTheEnd() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.namesOffset = false }
        try await run(
            store,
            handler: { request in
                let isFirst = request.header("upload-complete") == "?1" && request.body.count == 77
                store.state.withLock { $0.keepsHalf = request.method == "PATCH" && isFirst }
                return store.answer(request)
            }
        ) { _, upload, input, bytes in
            _ = try await upload.run(input, job: job(30))
            #expect(store.state.withLock { $0.isComplete && $0.stored.elementsEqual(bytes) })
        }
    }

    /// The responses omit the offset, as the draft's own examples do, and in the second case also the completion.
    @Test(arguments: [true, false])
    func offsetThatIsNotNamedIsAskedFor(namesCompletion: Bool) async throws {
        let store = ResumableServer()
        store.state.withLock { ($0.namesOffset, $0.namesCompletion) = (false, namesCompletion) }
        try await run(store) { server, upload, input, bytes in
            _ = try await upload.run(input, job: job(32))
            #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
            #expect(server.requests.count { $0.method == "PATCH" } == 4)
            #expect(server.requests.count { $0.method == "HEAD" } == (namesCompletion ? 3 : 4))
        }
    }

    /// The target has received the whole file and rejects it, with or without `upload-complete` in its error.
    @Test(arguments: [(500, true), (422, true), (500, false)])
    func wholeThatTheTargetRejectsIsNoSuccess(status: Int, namesCompletion: Bool) async throws {
        let store = ResumableServer()
        store.state.withLock { ($0.finalStatus, $0.namesCompletion) = (status, namesCompletion) }
        try await run(store) { _, upload, input, bytes in
            let refusal = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(33)) }
            #expect(refusal?.status == status)
            #expect(refusal?.isRetryable == (status == 500))
            #expect(store.state.withLock { $0.isComplete })
            // The next attempt must send the whole file again, instead of asking and learning that nothing is missing.
            store.state.withLock { $0.finalStatus = 204 }
            _ = try await upload.run(input, job: job(33))
            #expect(store.state.withLock { $0.creations } == 2)
            #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
        }
    }

    /// A gateway error counts as a lost response: the upload asks the target for its state and sends nothing again.
    @Test(arguments: [502, 504])
    func gatewayThatGivesUpAtTheEndIsALostAnswer(status: Int) async throws {
        let store = ResumableServer()
        store.state.withLock { ($0.finalStatus, $0.namesCompletion) = (status, false) }
        try await run(store) { _, upload, input, bytes in
            _ = try await upload.run(input, job: job(39))
            #expect(store.state.withLock { $0.creations } == 1)
            #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
        }
    }

    @Test func nameThatIsTakenAtTheEndIsToldAsSuch() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.finalStatus = 412 }
        try await run(store) { _, upload, input, _ in
            var input = input
            input.createOnly = true
            let refusal = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(38)) }
            #expect(refusal?.code == "already_exists")
        }
    }

    /// The server has all bytes but reports the upload as incomplete, so an empty PATCH completes it.
    @Test func uploadThatIsNotCompleteIsCompleted() async throws {
        let store = ResumableServer()
        try await run(
            store,
            handler: { request in
                let answer = store.answer(request)
                guard request.method == "PATCH", !request.body.isEmpty, store.state.withLock({ $0.isComplete }) else {
                    return answer
                }
                return store.state.withLock { state in
                    state.isComplete = false
                    return .respond(204, [("upload-complete", "?0"), ("upload-offset", "\(state.stored.count)")])
                }
            }
        ) { server, upload, input, bytes in
            let output = try await upload.run(input, job: job(34))
            #expect(output.bytes == Int64(bytes.count))
            #expect(store.state.withLock { $0.isComplete })
            let last = try #require(server.requests.last)
            #expect(last.method == "PATCH" && last.body.isEmpty && last.header("upload-complete") == "?1")
            #expect(last.header("upload-offset") == "\(bytes.count)")
        }
    }

    /// The attempt fails if the server never reports completion.
    @Test func serverThatNeverCompletesIsGivenUp() async throws {
        let store = ResumableServer()
        try await run(
            store,
            handler: { request in
                let answer = store.answer(request)
                store.state.withLock { $0.isComplete = false }
                guard request.method == "PATCH", case .respond(let status, let headers, _) = answer else {
                    return answer
                }
                return .respond(status, headers.map { $0.0 == "upload-complete" ? ($0.0, "?0") : $0 })
            }
        ) { server, upload, input, _ in
            let failure = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(35)) }
            #expect(failure?.code == "connection_lost")
            #expect(server.requests.count < 20)
        }
    }

    /// An upload that the server completed with too few bytes fails.
    @Test func uploadThatIsCompleteTooEarlyFails() async throws {
        let store = ResumableServer()
        try await run(
            store,
            handler: { request in
                guard request.method == "PATCH" else { return store.answer(request) }
                return .respond(204, [("upload-complete", "?1"), ("upload-offset", "7")])
            }
        ) { _, upload, input, _ in
            let failure = await failure { () async throws(KindFailure) in try await upload.run(input, job: job(36)) }
            #expect(failure?.code == "protocol_error")
        }
    }

    /// The server cannot have checked a piece that it stored only in part.
    @Test func pieceThatIsTakenInPartIsNotChecked() async throws {
        let store = ResumableServer()
        store.state.withLock { $0.knowsChecksums = true }
        try await run(
            store, style: .tus,
            handler: { request in
                store.state.withLock { state in
                    state.keepsHalf = request.method == "PATCH" && state.stored.isEmpty
                }
                return store.answer(request)
            }
        ) { _, upload, input, bytes in
            let output = try await upload.run(input, job: job(37))
            #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
            #expect(!output.isChecksumConfirmed)
        }
    }
}
