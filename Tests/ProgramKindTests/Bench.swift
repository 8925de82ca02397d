import Foundation
import Glibc
import JobFiles
import Jobs
import Logging
import OperationTypes
import Synchronization

@testable import ProgramKind

/// A host with a folder of its own, which runs programs and keeps what they write.
final class Bench: Sendable {
    let folder: String
    let files: MemoryFiles
    let host: ProgramHost
    private let count = Mutex<Int64>(0)

    /// The folder of the work folders.
    var work: String { folder + "/work" }

    init(roots: [String] = ["/bin", "/usr/bin"]) throws {
        folder = NSTemporaryDirectory().dropLast(while: "/") + "/programs-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        files = MemoryFiles(folder: folder)
        host = ProgramHost(
            ProgramSettings(roots: roots, folder: folder + "/work", spool: folder + "/spool"), files: files,
            logger: Logger(label: "test"))
        try host.prepare(adoptsOrphans: true)
    }

    deinit {
        // A folder that is left behind fills only the temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts an attempt of a definition, which is given as JSON without its braces.
    func start(
        _ definition: String, input: String = "{}", dependencies: [DependencyOutput] = []
    ) throws -> Attempt {
        let lease = Lease(
            job: JobID(
                count.withLock {
                    $0 += 1; return $0
                }), attempt: 1)
        let program = try ProgramDefinition(json: JSONText(checking: Array("{\(definition)}".utf8)), at: [])
        let attempt = Attempt(lease: lease, host: host)
        host.run(
            HostedAttempt(
                lease: lease, kind: "program", input: try JSONText(checking: Array(input.utf8), limit: 4 << 20),
                program: program, dependencies: dependencies, onBegin: { attempt.began.open() },
                onProgress: { progress in attempt.progress.withLock { $0.append(progress) } },
                onUsage: { usage in attempt.usage.withLock { $0 = usage } }, onEnd: { attempt.ended.open(with: $0) }))
        return attempt
    }

    /// Runs an attempt to its end.
    func run(
        _ definition: String, input: String = "{}", dependencies: [DependencyOutput] = []
    ) async throws -> HostedEnd {
        try await start(definition, input: input, dependencies: dependencies).ended.uncancellableWait()
    }

    /// The definition of a shell script, which gets the fields `a` and `b` as arguments.
    static func script(_ text: String, _ more: String = "") -> String {
        let words = ["/bin/sh", "-c", text.replacing("{", with: "{{").replacing("}", with: "}}"), "sh"]
        let program = words.map { JSONText(string: $0).string }.joined(separator: ",")
        return #""program":[\#(program),"{a}","{b}"],"fields":{"a":{},"b":{}}\#(more)"#
    }
}

final class Attempt: Sendable {
    let lease: Lease
    let began = Latch<Void>()
    let ended = Latch<HostedEnd>()
    let progress = Mutex<[OperationProgress]>([])
    let usage = Mutex<AttemptUsage?>(nil)
    private let host: ProgramHost

    init(lease: Lease, host: ProgramHost) {
        self.lease = lease
        self.host = host
    }

    func stop(_ reason: HostedStop = .cancelled) { host.stop(lease, reason) }
    func abandon() { host.abandon(lease, after: .seconds(10)) }
}

extension HostedEnd {
    var output: String? {
        if case .succeeded(let output, _) = self { return output.string }
        return nil
    }

    var failure: TryFailure? {
        if case .failed(let failure) = self { return failure }
        return nil
    }

    var code: String? { failure?.failure.code }
}

/// Keeps logs in memory, and files in a folder.
final class MemoryFiles: ProgramFiles {
    let folder: String
    private let logs = Mutex<[Lease: Log]>([:])
    /// Runs when a file has been kept, before the attempt learns of it.
    let onKeep = Mutex<@Sendable () -> Void>({})

    init(folder: String) { self.folder = folder }

    func beginLog(of lease: Lease, limit: Int) throws -> any ProgramLog {
        let log = Log()
        logs.withLock { $0[lease] = log }
        return log
    }

    func keep(_ path: String, of lease: Lease, name: String) throws -> KeptFile {
        let kept = "\(folder)/kept-\(lease.job)-\(lease.attempt)"
        guard rename(path, kept) == 0 else { throw CocoaError(.fileWriteUnknown) }
        onKeep.withLock(\.self)()
        let size = try FileManager.default.attributesOfItem(atPath: kept)[.size] as? Int64
        return KeptFile(name: name, size: size ?? 0, sha256: "", path: kept)
    }

    func discard(_ lease: Lease) throws {
        try FileManager.default.removeItem(atPath: "\(folder)/kept-\(lease.job)-\(lease.attempt)")
    }

    func lend(_ lease: Lease, at path: String) throws -> LentFile? {
        guard link("\(folder)/kept-\(lease.job)-\(lease.attempt)", path) == 0 else { return nil }
        return LentFile(lease: lease, path: path, isClone: false)
    }

    func takeBack(_ lent: LentFile) throws -> Bool { true }

    func log(of attempt: Attempt) -> Log? { logs.withLock { $0[attempt.lease] } }

    final class Log: ProgramLog {
        private let bytes = Mutex<[UInt8]>([])
        let isFinished = Latch<Void>()
        let hasText = Latch<Void>()

        var text: String { String(decoding: bytes.withLock(\.self), as: UTF8.self) }

        func append(_ more: UnsafeRawBufferPointer) {
            // A program may write without end.
            bytes.withLock { if $0.count < 1 << 20 { $0 += more } }
            if !hasText.isOpen { hasText.open() }
        }

        func note(_ line: String) { Array("\(line)\n".utf8).withUnsafeBytes { append($0) } }

        func finish() { isFinished.open() }
    }
}

extension String {
    fileprivate func dropLast(while character: Character) -> String {
        var text = self[...]
        while text.last == character { text.removeLast() }
        return String(text)
    }
}
