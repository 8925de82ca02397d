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

/// Uploads to a tus server that is not part of Halyard.
@Suite(
    .enabled(if: TusServer.program != nil, "tuspyserver is not installed (scripts/test.d/servers)"), .serialized)
struct TusUploadTests {
    private func withUpload<T>(
        _ body: (_ creation: String, _ stored: String, Upload, _ file: String, _ bytes: [UInt8]) async throws -> T
    ) async throws -> T {
        try await TusServer.with { creation, stored in
            try await withFolder { folder in
                let bytes = randomBytes((5 << 20) + 7, seed: 5)
                try Data(bytes).write(to: URL(fileURLWithPath: folder + "/data.bin"))
                var configuration = UploadConfiguration()
                configuration.roots = [folder]
                configuration.checkpoints = folder + "/state"
                configuration.chunkBytes = 1 << 20
                return try await withClient { client in
                    try await body(
                        creation, stored, Upload(client: client, configuration: configuration), folder + "/data.bin",
                        bytes)
                }
            }
        }
    }

    private func job(
        _ id: Int64, attempt: Int = 1, isStoppedForGood: @escaping @Sendable () -> Bool = { false },
        _ onProgress: (@Sendable (OperationProgress) -> Void)?
    ) -> JobContext {
        JobContext(
            lease: Lease(job: JobID(id), attempt: attempt),
            operation: OperationContext(attempt: attempt, onProgress: onProgress), isStoppedForGood: isStoppedForGood,
            onEnqueue: { _ in })
    }

    /// The content that the server stored for an upload.
    private func content(of output: Upload.Output, in stored: String) throws -> Data {
        let name = try #require(output.location?.split(separator: "/").last)
        return try Data(contentsOf: URL(fileURLWithPath: "\(stored)/\(name)"))
    }

    @Test(arguments: [Upload.Input.Style.tus, .auto])
    func fileIsStoredByteForByte(style: Upload.Input.Style) async throws {
        try await withUpload { creation, stored, upload, file, bytes in
            let output = try await upload.run(Upload.Input(file: file, to: creation, style: style), job: job(1, nil))
            #expect(output.bytes == Int64(bytes.count))
            #expect(output.sha256 == SHA256.hash(data: bytes).hexadecimal)
            #expect(try content(of: output, in: stored) == Data(bytes))
        }
    }

    /// Names of the uploads with content at the server. The `.info` files next to them do not count: the server
    /// rewrites them when the connection breaks during a piece, even after a deletion.
    private func uploads(in stored: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: stored).filter { !$0.contains(".") }
    }

    /// The new attempt has only the checkpoint and sends the missing bytes.
    @Test func interruptedUploadGoesOn() async throws {
        try await withUpload { creation, stored, upload, file, bytes in
            let input = Upload.Input(file: file, to: creation, style: .tus)
            let reached = Signal()
            let first = Task {
                await failure { () async throws(KindFailure) in
                    try await upload.run(
                        input, job: job(2, { if $0.completed > 2 << 20 { reached.open() } }))
                }
            }
            await reached.wait()
            first.cancel()
            #expect(await first.value?.code == "cancelled")
            let folder = try #require(upload.configuration.checkpoints)
            let saved = try #require(CheckpointFile(folder: folder, job: JobID(2)).load())
            #expect(saved.offset >= 2 << 20)
            let lowest = Mutex(Int64.max)
            let output = try await upload.run(
                input, job: job(2, attempt: 2, { progress in lowest.withLock { $0 = min($0, progress.completed) } }))
            #expect(lowest.withLock { $0 } >= saved.offset)
            #expect(try content(of: output, in: stored) == Data(bytes))
            #expect(CheckpointFile(folder: folder, job: JobID(2)).load()?.receipt?.output == output)
        }
    }

    @Test func uploadOfACancelledJobIsDeletedAtTheServer() async throws {
        try await withUpload { creation, stored, upload, file, _ in
            let reached = Signal()
            let input = Upload.Input(file: file, to: creation, style: .tus)
            let first = Task {
                await failure { () async throws(KindFailure) in
                    try await upload.run(
                        input,
                        job: job(3, isStoppedForGood: { true }, { if $0.completed > 2 << 20 { reached.open() } }))
                }
            }
            await reached.wait()
            #expect(try !uploads(in: stored).isEmpty)
            first.cancel()
            #expect(await first.value?.code == "cancelled")
            #expect(try uploads(in: stored) == [])
            let folder = try #require(upload.configuration.checkpoints)
            #expect(CheckpointFile(folder: folder, job: JobID(3)).load() == nil)
        }
    }

    @Test func uploadThatTheServerNoLongerHasBeginsAnew() async throws {
        try await withUpload { creation, stored, upload, file, bytes in
            let folder = try #require(upload.configuration.checkpoints)
            let opened = try upload.configuration.open(file)
            try CheckpointFile(folder: folder, job: JobID(4)).save(
                Checkpoint(
                    style: "tus", target: creation, upload: creation + "0123456789abcdef0123456789abcdef",
                    source: opened.identity, offset: 1 << 20))
            let output = try await upload.run(
                Upload.Input(file: file, to: creation, style: .tus), job: job(4, attempt: 2, nil))
            #expect(try content(of: output, in: stored) == Data(bytes))
        }
    }

    @Test func emptyFileIsAnUploadToo() async throws {
        try await withUpload { creation, stored, upload, file, _ in
            try Data().write(to: URL(fileURLWithPath: file))
            let output = try await upload.run(Upload.Input(file: file, to: creation, style: .tus), job: job(5, nil))
            #expect(output.bytes == 0)
            #expect(try content(of: output, in: stored).isEmpty)
        }
    }

    /// The job was cancelled between two attempts.
    @Test func uploadOfADeadJobIsTakenBack() async throws {
        try await withUpload { creation, stored, upload, file, _ in
            let reached = Signal()
            let first = Task {
                await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(file: file, to: creation, style: .tus),
                        job: job(6, { if $0.completed > 2 << 20 { reached.open() } }))
                }
            }
            await reached.wait()
            first.cancel()
            _ = await first.value
            let folder = try #require(upload.configuration.checkpoints)
            #expect(try await upload.leavesAnything { _ in .scheduled } == false)
            #expect(try uploads(in: stored).count == 1)
            #expect(try await upload.leavesAnything { $0 == JobID(6) ? .cancelled : nil } == false)
            #expect(CheckpointFile(folder: folder, job: JobID(6)).load() == nil)
            #expect(try uploads(in: stored) == [])
        }
    }
}
