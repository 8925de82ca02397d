import Foundation
import Programs
import Testing

/// A directory on a disk whose syncs can fail on request, and the programs that write there.
final class FailingDisk: Sendable {
    let directory: TemporaryDirectory
    private var state: String { directory.path + "/disk" }
    var database: String { directory.database }

    /// One process that writes, and the faults that it encounters.
    struct Run: Sendable, CustomStringConvertible {
        /// The numbers of its syncs that fail, from 1.
        var fails: [Int] = []
        var rounds = 12
        var isKilled = false
        var seed = 0
        var ignoresSyncsOfLog = false
        /// The number of its read that fails, from 1; optionally with all later reads.
        var failedRead = 0
        var readsStayBroken = false

        var description: String {
            "syncs \(fails) fail, \(rounds) rounds, \(isKilled ? "killed" : "stopped"), seed \(seed)"
        }
    }

    /// An ineffective measure, taken instead of reading the files from the disk again.
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

    /// - Returns: The exit status: 0, or 74 when the disk failed.
    @discardableResult
    func run(_ run: Run, _ cure: WrongCure? = nil) async throws -> Int32 {
        var environment = try await PreloadedDisk.environment(of: database, state: state)
        let wanted = [
            "HALYARD_DISK_FAILED_READ": "\(run.failedRead)\(run.readsStayBroken ? "+" : "")",
            "HALYARD_DISK_FAILS": run.fails.map(String.init).joined(separator: ","),
            "HALYARD_DISK_SEED": "\(run.seed)", "HALYARD_DISK_IGNORES": run.ignoresSyncsOfLog ? "1" : "",
            "SWIFT_BACKTRACE": "enable=no",
        ]
        environment.merge(wanted) { _, new in new }
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

    /// The current contents of a file on the disk, as the disk itself stores them.
    func contents(ofFile number: Int) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: state + "/\(number).disk")))
    }

    struct Failure: Error, CustomStringConvertible { let description: String }
}
