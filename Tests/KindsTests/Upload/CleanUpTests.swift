import Foundation
import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

extension Upload {
    /// Deletes the uploads of ended jobs.
    func leavesAnything(_ state: @Sendable (JobID) -> JobState?) async throws -> Bool {
        try await cleanUp { state($0) }
    }
}

/// The clean-up of uploads that ended jobs left at servers, and the uploads that it must keep.
@Suite struct CleanUpTests {
    private func withUpload(
        _ answer: @escaping LoopbackServer.Handler,
        _ body: (LoopbackServer, Upload, _ folder: String) async throws -> Void
    ) async throws {
        try await LoopbackServer.with(answer) { server in
            try await withFolder { folder in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.checkpoints = folder
                    try await body(server, Upload(client: client, configuration: configuration), folder)
                }
            }
        }
    }

    /// Writes the checkpoint that an attempt of the job would leave.
    private func note(
        _ job: Int64, at server: LoopbackServer, in folder: String, isOld: Bool = false, offset: Int64 = 1
    ) throws {
        let source = OpenFile.Identity(device: 1, inode: 2, size: 3, modifiedNs: 4, changedNs: 5)
        let file = CheckpointFile(folder: folder, job: JobID(job))
        try file.save(
            Checkpoint(
                style: "tus", target: server.origin, upload: "\(server.origin)/files/\(job)", source: source,
                offset: offset)
        )
        if isOld { try age(job, in: folder) }
    }

    private func age(_ job: Int64, in folder: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: "\(folder)/upload-\(job).json")
    }

    @Test func onlyUploadsOfEndedJobsAreTakenBack() async throws {
        let states: [Int64: JobState] = [
            1: .cancelled, 2: .scheduled, 3: .running, 6: .failed, 7: .failed, 8: .cancelled, 9: .ready, 10: .blocked,
            11: .succeeded, 13: .failed, 14: .cancelled, 15: .failed,
        ]
        try await withUpload { request in
            .respond(["/files/6", "/files/7"].contains(request.path) ? 403 : request.path == "/files/13" ? 405 : 204)
        } _: { server, upload, folder in
            for job in [1, 4, 6, 13] as [Int64] { try note(job, at: server, in: folder) }
            // These checkpoints are old. Age does not matter while a job is active: a daemon may be down, or a queue
            // paused, for any length of time.
            for job in [2, 3, 5, 7, 9, 10] as [Int64] { try note(job, at: server, in: folder, isOld: true) }
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/upload-8.json.new"))
            // A power cut may undo the removal of a successful job's checkpoint; the uploaded content must stay.
            try note(11, at: server, in: folder, offset: 3)
            try note(12, at: server, in: folder, isOld: true, offset: 3)
            // These uploads are complete and are kept: the server may have passed the file on before the job ended.
            for job in [14, 15] as [Int64] { try note(job, at: server, in: folder, offset: 3) }
            #expect(try await upload.leavesAnything { states[$0.rawValue] })
            #expect(server.requests.allSatisfy { $0.method == "DELETE" })
            // Jobs 4 and 5 are unknown, but only the checkpoint of 5 is old enough to delete its upload.
            #expect(Set(server.requests.map(\.path)) == ["/files/1", "/files/5", "/files/6", "/files/7", "/files/13"])
            // A server without DELETE is asked once (13). A refused deletion is repeated (6) for at most 14 days (7).
            #expect(Set(CheckpointFile.jobs(in: folder).map(\.rawValue)) == [2, 3, 4, 6, 9, 10])
        }
    }

    @Test func manyUploadsAreTakenBackAtOnce() async throws {
        try await withUpload { _ in
            .respond(204)
        } _: { server, upload, folder in
            for job in 1...45 as ClosedRange<Int64> { try note(job, at: server, in: folder) }
            #expect(try await upload.leavesAnything { _ in .cancelled } == false)
            #expect(Set(server.requests.map(\.path)).count == 45)
            #expect(CheckpointFile.jobs(in: folder).isEmpty)
        }
    }

    @Test func withoutAFolderNothingIsLeft() async throws {
        try await withUpload { _ in
            .respond(204)
        } _: { server, upload, folder in
            for checkpoints in [nil, folder + "/none"] {
                var configuration = UploadConfiguration()
                configuration.checkpoints = checkpoints
                let bare = Upload(client: upload.client, configuration: configuration)
                let isLeft = try await bare.leavesAnything { _ in .cancelled }
                #expect(!isLeft)
            }
            #expect(server.requests.isEmpty)
        }
    }

    /// The job resumes although the daemon was down, or its queue paused, for longer than any retention period.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func jobGoesOnHoweverLongItWaited(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        let isBack = Mutex(false)
        try await LoopbackServer.with { request in
            let isFull = request.method == "PATCH" && store.state.withLock { $0.stored.count } >= 1 << 20
            return isFull && !isBack.withLock { $0 } ? .respond(403) : store.answer(request)
        } _: { server in
            try await withClient { client in
                try await ResumableUploadTests().withUpload(client) { upload, file, bytes in
                    let job = ResumableUploadTests().job(51)
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: style)
                    let first = await failure { () async throws(KindFailure) in try await upload.run(input, job: job) }
                    #expect(first?.status == 403)
                    let folder = try #require(upload.configuration.checkpoints)
                    try age(51, in: folder)
                    isBack.withLock { $0 = true }
                    let restarted = Upload(client: client, configuration: upload.configuration)
                    #expect(try await restarted.leavesAnything { _ in .ready } == false)
                    _ = try await restarted.run(input, job: job)
                    #expect(!server.requests.contains { $0.method == "DELETE" })
                    let state = store.state.withLock { $0 }
                    #expect(state.creations == 1)
                    #expect(state.received == bytes.count)
                }
            }
        }
    }
}
