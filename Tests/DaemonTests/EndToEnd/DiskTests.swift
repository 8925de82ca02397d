import Foundation
import Programs
import Testing

/// The real daemon on a failing disk, with files that disappear, and with a low limit of open files.
@Suite(.serialized) struct DiskTests {
    /// Accepts jobs until the disk fails, restarts on the healthy disk, accepts eight more jobs, and cuts the power.
    ///
    /// - Returns: How many of the acknowledged jobs are missing on the disk; nil if the disk did not fail.
    private func lossesAfterAFailedSync(_ sync: Int, keepsPageCache: Bool) async throws -> Int? {
        let bed = try TestBed()
        let state = bed.folder.path + "/disk"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        var environment = try await PreloadedDisk.environment(of: bed.database, state: state)
        if keepsPageCache { environment["HALYARD_DISK_KEEPS"] = "01" }
        let enqueue = ["enqueue", "visit", "\(bed.server.site)/page/1", "--in", "1h"]
        var accepted: [String] = []
        func accept() async throws -> Bool {
            let answer = try await ChildProcess.run(
                binary("halyard"), enqueue,
                environment: ["HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": "/nonexistent"])
            if answer.status == .exited(0) { accepted.append(answer.output) }
            return answer.status == .exited(0)
        }
        let hasFailed = try await bed.withDaemon(
            environment: environment.merging(["HALYARD_DISK_FAILS": "\(sync)"]) { _, new in new }
        ) { daemon in
            for _ in 0..<40 where try await !accept() {
                #expect(await daemon.waitForEnd() == .exited(74))
                return true
            }
            return false
        }
        guard hasFailed else { return nil }
        try await bed.withDaemon(environment: environment) { _ in
            let before = accepted.count
            for _ in 0..<8 { _ = try await accept() }
            #expect(accepted.count == before + 8)
        }
        // The power is cut: data that was never synced is not on the disk.
        let cut = bed.folder.path + "/cut.db"
        for (number, suffix) in ["", "-wal"].enumerated() {
            try FileManager.default.copyItem(atPath: state + "/\(number).disk", toPath: cut + suffix)
        }
        let found = try await ChildProcess.run("sqlite3", [cut, "SELECT id FROM job"])
        return Set(accepted).subtracting(found.output.split(separator: "\n").map(String.init)).count
    }

    @Test(.timeLimit(.minutes(2)), arguments: [14, 19])
    func p1WhatIsAcceptedAfterAFailedSyncSurvivesAPowerCut(sync: Int) async throws {
        #expect(try await lossesAfterAFailedSync(sync, keepsPageCache: false) == 0)
    }

    /// Tests the test above.
    @Test(.timeLimit(.minutes(2))) func aDaemonThatTrustsThePageCacheLosesJobs() async throws {
        #expect(try await lossesAfterAFailedSync(19, keepsPageCache: true) ?? 0 > 0)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", "-wal"])
    func anIdleDaemonEndsWhenItsDatabaseIsRemoved(suffix: String) async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try FileManager.default.removeItem(atPath: bed.database + suffix)
            #expect(await daemon.waitForEnd() == .exited(74))
            #expect(daemon.errors.text.contains("\(bed.database)\(suffix) was removed, renamed or replaced"))
        }
        let next = try bed.launch()
        if suffix.isEmpty {
            // P11: it creates no new database in its place.
            #expect(await next.waitForEnd() == .exited(78))
            #expect(next.errors.text.contains("Put it back"))
        } else {
            await bed.notifications.heard.first { $0 == "READY=1" }
            await next.stop()
        }
    }

    /// Whatever the limit, the daemon runs or says why not: it is never killed by a signal, and may be started again.
    @Test(.timeLimit(.minutes(3))) func aTooLowLimitOfOpenFilesIsReported() async throws {
        let bed = try TestBed()
        var isReadyAt: [Int] = []
        for limit in Array(4...16) + [27, 40, 60, 66, 67, 68, 72, 80] {
            let from = bed.notifications.heard.all.count
            let daemon = try bed.spawn(
                "prlimit", ["--nofile=\(limit):\(limit)", binary("halyardd"), "--config", bed.configuration],
                environment: ["NOTIFY_SOCKET": bed.notifications.address, "SWIFT_BACKTRACE": "enable=no"])
            let end = await withTaskGroup(of: ChildProcess.End?.self) { group in
                group.addTask { await daemon.waitForEnd() }
                group.addTask {
                    if await bed.notifications.heard.first(from: from, where: { $0 == "READY=1" }) != nil {
                        daemon.signal(SIGTERM)
                    }
                    return await daemon.waitForEnd()
                }
                let end = await group.next() ?? nil
                group.cancelAll()
                return end
            }
            if end == .exited(0) {
                isReadyAt.append(limit)
            } else {
                #expect(end == .exited(74), "limit \(limit): \(daemon.errors.text)")
                // With a lower limit the C library cannot load the program.
                #expect(limit < 5 || daemon.errors.text.contains("Raise the limit"), "\(limit): \(daemon.errors.text)")
            }
        }
        #expect(isReadyAt.contains(80) && !isReadyAt.contains(60))
    }
}
