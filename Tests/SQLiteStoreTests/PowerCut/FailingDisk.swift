import Foundation
import Programs
import Testing

/// A directory on a disk whose syncs fail when a test wants it, and the programs that write there.
final class FailingDisk: Sendable {
    let directory: TemporaryDirectory
    private var state: String { directory.path + "/disk" }
    var database: String { directory.database }

    /// One process that writes, and what it meets.
    struct Run: Sendable, CustomStringConvertible {
        /// Which of its syncs fail, from 1 on.
        var fails: [Int] = []
        var rounds = 12
        var isKilled = false
        var seed = 0
        var ignoresSyncsOfLog = false

        var description: String {
            "syncs \(fails) fail, \(rounds) rounds, \(isKilled ? "killed" : "stopped"), seed \(seed)"
        }
    }

    /// What is done instead of reading the files from the disk again.
    enum WrongCure: String, Sendable, CaseIterable {
        case nothing
        case dropOnlyTheLog
        case writeAgain
        case checkpoint
    }

    init() throws {
        directory = try TemporaryDirectory(inMemory: true)
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
    }

    /// - Returns: Its status: 0, or 74 when the disk failed.
    @discardableResult
    func run(_ run: Run, _ cure: WrongCure? = nil) async throws -> Int32 {
        var environment = [
            "LD_PRELOAD": try await PreloadedDisk.library(), "HALYARD_DISK": state, "HALYARD_DISK_DATABASE": database,
            "HALYARD_DISK_FAILS": run.fails.map(String.init).joined(separator: ","),
            "HALYARD_DISK_SEED": "\(run.seed)", "HALYARD_DISK_IGNORES": run.ignoresSyncsOfLog ? "1" : "",
            "SWIFT_BACKTRACE": "enable=no",
        ]
        var arguments = [database, "\(run.rounds)", run.isKilled ? "kill" : "stop"]
        switch cure {
        case nil: break
        case .nothing: environment["HALYARD_DISK_KEEPS"] = "01"
        case .dropOnlyTheLog: environment["HALYARD_DISK_KEEPS"] = "0"
        case .writeAgain, .checkpoint:
            environment["HALYARD_DISK_KEEPS"] = "01"
            arguments.append(cure == .writeAgain ? "write-again" : "checkpoint")
        }
        let ended = try await ChildProcess.run(binary("PowerCutWriter"), arguments, environment: environment)
        guard case .exited(let status) = ended.status else {
            throw Failure(description: "\(String(describing: ended.status)): \(ended.output) \(ended.errors)")
        }
        if status != 0, status != 74, cure == nil {
            throw Failure(description: "\(run): ended with \(status): \(ended.output) \(ended.errors)")
        }
        return status
    }

    func recording() throws -> Recording {
        try Recording(log: Array(Data(contentsOf: URL(filePath: state + "/log"))))
    }

    /// What the disk holds of a file by now, as the disk itself says.
    func contents(ofFile number: Int) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: state + "/\(number).disk")))
    }

    struct Failure: Error, CustomStringConvertible { let description: String }
}

/// The library that makes a program see such a disk, compiled once.
enum PreloadedDisk {
    private static let built = Task {
        let directory = try TemporaryDirectory()
        let source = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/PowerCut/disk.c"
        let library = directory.path + "/disk.so"
        let built = try await ChildProcess.run(
            "clang", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        guard built.status == .exited(0) else { throw FailingDisk.Failure(description: built.errors) }
        return (directory, library)
    }

    static func library() async throws -> String { try await built.value.1 }
}
