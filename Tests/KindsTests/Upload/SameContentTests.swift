import CLinux
import Crypto
import Foundation
import Glibc
import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// A file whose metadata changed counts as unchanged if its content is; a writer that restores the times is detected.
@Suite struct SameContentTests {
    enum Touch: String, CaseIterable, Sendable {
        case rename, chmod, chown, hardLink

        func touch(_ path: String) -> Bool {
            switch self {
            case .rename: Glibc.rename(path, path + ".new") == 0 && Glibc.rename(path + ".new", path) == 0
            case .chmod: Glibc.chmod(path, 0o640) == 0
            case .chown: Glibc.chown(path, getuid(), getgid()) == 0
            case .hardLink: link(path, path + ".link") == 0
            }
        }
    }

    /// Changes one byte and restores the file's times.
    private static func forge(_ path: String, at offset: off_t) -> Bool {
        var facts = stat()
        let file = open(path, O_RDWR)
        defer { close(file) }
        guard file >= 0, fstat(file, &facts) == 0 else { return false }
        var byte: UInt8 = 0
        guard pread(file, &byte, 1, offset) == 1 else { return false }
        byte ^= 0xFF
        guard pwrite(file, &byte, 1, offset) == 1 else { return false }
        return futimens(file, [facts.st_atim, facts.st_mtim]) == 0
    }

    private static let size = 5 << 20

    private func digest(of bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexadecimal }

    /// Runs an upload of a file and calls `touch` once the second megabyte is being sent.
    private func send(
        _ style: Upload.Input.Style, to handler: @escaping LoopbackServer.Handler,
        _ touch: @escaping @Sendable (String) -> Bool,
        _ check: (Result<Upload.Output, KindFailure>, LoopbackServer, [UInt8]) throws -> Void
    ) async throws {
        try await LoopbackServer.with(handler) { server in
            try await withFolder { folder in
                let bytes = randomBytes(Self.size, seed: 3)
                let path = folder + "/file"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                try await withClient { client in
                    var configuration = PartStore.configuration(folder, server)
                    configuration.checkpoints = nil
                    configuration.chunkBytes = 1 << 20
                    let upload = Upload(client: client, configuration: configuration)
                    let input = Upload.Input(
                        file: path, to: server.origin + "/bucket/key", style: style,
                        credential: style == .s3 ? "store" : nil)
                    let isTouched = Mutex(false)
                    let context = OperationContext { progress in
                        let isFirst = isTouched.withLock { isTouched in
                            guard !isTouched, progress.completed >= 1 << 20 else { return false }
                            isTouched = true
                            return true
                        }
                        if isFirst, !touch(path) { Issue.record("the file could not be touched") }
                    }
                    let result: Result<Upload.Output, KindFailure>
                    do throws(KindFailure) { result = .success(try await upload.run(input, context: context)) } catch {
                        result = .failure(error)
                    }
                    #expect(isTouched.withLock { $0 })
                    try check(result, server, bytes)
                }
            }
        }
    }

    private func handler(_ style: Upload.Input.Style) -> LoopbackServer.Handler {
        let parts = PartStore()
        let pieces = ResumableServer()
        return { request in
            switch style {
            case .plain: .respond(201)
            case .s3: parts.answer(request)
            default: pieces.answer(request)
            }
        }
    }

    @Test(arguments: Touch.allCases, [Upload.Input.Style.plain, .tus, .resumable, .s3])
    func aTouchedFileIsNoOtherContent(touch: Touch, style: Upload.Input.Style) async throws {
        try await send(style, to: handler(style), { touch.touch($0) }) { result, _, bytes in
            let output = try result.get()
            #expect(output.sha256 == digest(of: bytes))
        }
    }

    @Test(arguments: [Upload.Input.Style.plain, .tus, .resumable, .s3])
    func aFileWithOtherContentAndTheSameTimesIsNeverFinished(style: Upload.Input.Style) async throws {
        try await send(style, to: handler(style), { Self.forge($0, at: 17) }) { result, server, _ in
            guard case .failure(let failure) = result else {
                Issue.record("the upload was finished")
                return
            }
            #expect(failure.code == "source_changed")
            switch style {
            case .plain: #expect(server.requests.isEmpty)
            case .s3: #expect(!server.requests.contains { $0.method == "POST" && $0.target.contains("uploadId") })
            default: #expect(server.requests.filter { $0.method == "PATCH" }.count < 5)
            }
        }
    }

    // MARK: Between two attempts

    private func job(_ attempt: Int) -> JobContext {
        JobContext(
            lease: Lease(job: JobID(1), attempt: attempt), operation: OperationContext(attempt: attempt),
            onEnqueue: { _ in })
    }

    /// Interrupts an upload after two of five pieces, calls `touch`, and resumes the upload.
    private func resume(
        _ touch: (String) -> Bool, serverIsAhead: Bool = false,
        _ check: (Result<Upload.Output, KindFailure>, ResumableServer, [UInt8]) throws -> Void
    ) async throws {
        let store = ResumableServer()
        let pieces = Counter()
        try await LoopbackServer.with { request in
            // The server refuses the third piece permanently.
            request.method == "PATCH" && pieces.next() == 3 ? .respond(400) : store.answer(request)
        } _: { server in
            try await withFolder { folder in
                let bytes = randomBytes(Self.size, seed: 3)
                let path = folder + "/file"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.checkpoints = folder
                    configuration.chunkBytes = 1 << 20
                    let upload = Upload(client: client, configuration: configuration)
                    let input = Upload.Input(file: path, to: server.origin + "/files", style: .tus)
                    let first = await failure { () async throws(KindFailure) in
                        try await upload.run(input, job: job(1))
                    }
                    #expect(first?.status == 400)
                    if serverIsAhead { store.state.withLock { $0.stored += bytes[(2 << 20)..<(2 << 20) + 1000] } }
                    #expect(touch(path))
                    let result: Result<Upload.Output, KindFailure>
                    do throws(KindFailure) { result = .success(try await upload.run(input, job: job(2))) } catch {
                        result = .failure(error)
                    }
                    try check(result, store, bytes)
                }
            }
        }
    }

    @Test(arguments: Touch.allCases) func anUploadResumesAfterATouch(touch: Touch) async throws {
        try await resume({ touch.touch($0) }) { result, store, bytes in
            let output = try result.get()
            #expect(output.sha256 == digest(of: bytes))
            #expect(store.state.withLock { $0.creations } == 1)
        }
    }

    @Test func anUploadDoesNotResumeWithOtherContent() async throws {
        try await resume({ Self.forge($0, at: 17) }) { result, store, _ in
            guard case .failure(let failure) = result else {
                Issue.record("the upload was finished")
                return
            }
            #expect(failure.code == "source_changed")
            #expect(!store.state.withLock { $0.isComplete })
        }
    }

    /// The server has bytes that the checkpoint's digest does not cover, and they may differ from the file's current
    /// content.
    @Test func anUploadBeginsAgainIfTheServersBytesCannotBeCompared() async throws {
        try await resume({ Self.forge($0, at: 2 << 20) }, serverIsAhead: true) { result, store, bytes in
            var changed = bytes
            changed[2 << 20] ^= 0xFF
            let output = try result.get()
            #expect(output.sha256 == digest(of: changed))
            let state = store.state.withLock { $0 }
            #expect(state.creations == 2)
            #expect(state.stored.elementsEqual(changed))
        }
    }
}
