import Foundation
import Testing

@testable import JobStoreContract

/// P1 and P4 at a power cut: all writes and syncs of a process are recorded, and from them the disks are rebuilt that a
/// power cut could leave. Each must open and contain everything that was acknowledged before the cut.
///
/// (Killing the process proves less, since the kernel still writes the process's data.)
@Suite struct PowerCutTests {
    /// The number of chains. `scripts/power-cut` sets more, with a cut at every step.
    private static let chains = ProcessInfo.processInfo.environment["HALYARD_POWER_CUT_CHAINS"].flatMap { Int($0) }

    private func check(_ disk: FailingDisk, _ story: String, seed: UInt64, limit: Int) throws -> [String] {
        let recording = try disk.recording()
        for (number, file) in recording.finalDisk().enumerated().prefix(2) {
            #expect(try disk.contents(ofFile: number) == file.durable, "the disk and its record differ: \(story)")
        }
        var problems: [String] = []
        try recording.forEachImage(seed: seed, limit: Self.chains == nil ? limit : .max) { image in
            problems += try image.problems().map { "\($0): \(image.name); \(story)" }
        }
        return problems
    }

    @Test func p1APowerCutLosesNothingAcknowledgedAndTearsNothing() async throws {
        let disk = try FailingDisk()
        #expect(try await disk.run(.init(rounds: 80)) == 0)
        #expect(try disk.recording().acknowledgements > 100)
        #expect(try disk.recording().checkpoints > 50)
        let problems = try check(disk, "no sync fails", seed: 41, limit: 200)
        #expect(problems == [])
    }

    /// Tests the test above: without a sync at each commit it must find losses.
    @Test func aPowerCutWithoutSyncsLosesJobsAndCheckpoints() async throws {
        let disk = try FailingDisk()
        try await disk.run(.init(ignoresSyncsOfLog: true))
        let problems = try check(disk, "the log is not synced", seed: 41, limit: 60)
        #expect(problems.contains { !$0.hasPrefix("checkpoint") })
        #expect(problems.contains { $0.hasPrefix("checkpoint") })
    }

    /// A chain of processes and their faults: a sync fails while the first process works or creates the database,
    /// another while the next one recovers or works, and power fails at any moment.
    private func chain(seed: UInt64) -> [FailingDisk.Run] {
        var random = SplitMix64(seed: seed)
        func run(_ syncs: ClosedRange<Int>) -> FailingDisk.Run {
            let fails = (0..<Int.random(in: 1...2, using: &random)).map { _ in Int.random(in: syncs, using: &random) }
            return .init(
                fails: fails, rounds: Int.random(in: 4...24, using: &random), isKilled: Bool.random(using: &random),
                seed: Bool.random(using: &random) ? Int.random(in: 1...1 << 30, using: &random) : 0)
        }
        return [run(1...60), run(1...10), run(1...40), .init(rounds: 9, isKilled: Bool.random(using: &random))]
    }

    @Test func p1SyncsThatFailAlsoDuringRecoveryLoseNothing() async throws {
        var failures = 0
        for seed in 1...UInt64(Self.chains ?? 12) {
            let disk = try FailingDisk()
            let runs = chain(seed: seed)
            for run in runs where try await disk.run(run) != 0 { failures += 1 }
            let problems = try check(disk, "chain \(seed): \(runs)", seed: seed, limit: 40)
            #expect(problems == [])
        }
        #expect(failures > (Self.chains ?? 12) / 2)
    }

    /// Tests the test above: ineffective measures after a failed sync must lose jobs.
    @Test(arguments: FailingDisk.WrongCure.allCases)
    func wrongCuresOfAFailedSyncAreSeenToLose(_ cure: FailingDisk.WrongCure) async throws {
        var losses: [String] = []
        for sync in 12...60 where losses.isEmpty {
            let disk = try FailingDisk()
            let runs = [
                FailingDisk.Run(rounds: 9), FailingDisk.Run(fails: [sync], rounds: 40, isKilled: true),
                FailingDisk.Run(rounds: 24, isKilled: true),
            ]
            for run in runs { try await disk.run(run, cure) }
            losses = try check(disk, "sync \(sync) fails", seed: 7, limit: 60)
        }
        #expect(losses != [], "\(cure) lost nothing")
    }

    /// SQLite reports a failed read as damage in many places, at the start and later.
    @Test(arguments: [false, true]) func p11AReadThatFailsIsNotDamage(staysBroken: Bool) async throws {
        let disk = try FailingDisk()
        try await disk.run(.init(rounds: 3, isKilled: true))
        var failures = 0
        for read in stride(from: 1, through: 70, by: staysBroken ? 3 : 1) {
            // Throws unless the process ends with 0 or 74.
            let status = try await disk.run(
                .init(rounds: 1, isKilled: true, failedRead: read, readsStayBroken: staysBroken))
            failures += status == 0 ? 0 : 1
        }
        #expect(failures > 10)
        #expect(try await disk.run(.init(rounds: 3)) == 0)
    }
}
