import Foundation
import Glibc
import Programs
import Testing

/// Mistakes of somebody who starts the daemon for the first time.
@Suite(.serialized) struct NewAdministratorTests {
    @Test(.timeLimit(.minutes(1)))
    func whyNamesTheLimitOfAllQueues() async throws {
        let bed = try TestBed()
        try bed.configure("slots: 1")
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/gate/1", "/page/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            let why = try await bed.halyard("why", "2")
            #expect(why.output.contains("the daemon runs 1 job of at most 1 in all queues together"), "\(why.output)")
            #expect(why.output.contains("slots"))
            bed.server.openGate()
            try await bed.waitForAllJobs()
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["-check-config", "-hx"])
    func aMistypedOptionIsNoRequestForHelp(option: String) async throws {
        let bed = try TestBed()
        let daemon = try bed.launch([option])
        #expect(await daemon.waitForEnd() == .exited(64))
        #expect(daemon.output.text.isEmpty)
        #expect(daemon.errors.text.contains("There is no option \(option)."), "\(daemon.errors.text)")
    }

    /// The check says what the start would say, in the same words, and leaves the folder as it is.
    @Test(.timeLimit(.minutes(1)))
    func theCheckFindsADamagedDatabase() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in try await bed.enqueue("visit", "\(bed.server.site)/page/1") }
        _ = try await ChildProcess.run("sqlite3", [bed.database, "PRAGMA wal_checkpoint(TRUNCATE)"])
        let file = try FileHandle(forUpdating: URL(filePath: bed.database))
        try file.seek(toOffset: 4096 * 3)
        try file.write(contentsOf: Data(repeating: 0xff, count: 4096 * 20))
        try file.close()
        let before = try names(in: bed.folder.path)
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(78))
        #expect(
            check.errors.text.contains("The job database \(bed.database) is damaged ("), "\(check.errors.text)")
        #expect(try names(in: bed.folder.path) == before)
        let start = try bed.launch()
        #expect(await start.waitForEnd() == .exited(78))
        #expect(start.errors.text.contains("The job database \(bed.database) is damaged ("))
    }

    @Test(.timeLimit(.minutes(1)))
    func theCheckFindsAMissingFolder() async throws {
        let bed = try TestBed()
        let arguments = ["--database", bed.folder.path + "/none/halyard.db"]
        for more in [["--check-config"], []] {
            let daemon = try bed.launch(arguments + more)
            #expect(await daemon.waitForEnd() == .exited(78))
            #expect(
                daemon.errors.text.contains(
                    "There is no directory \(bed.folder.path)/none for the job database. Create it, or set another path for the database."
                ), "\(daemon.errors.text)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func anotherProgramsDatabaseGetsNoNeighbours() async throws {
        let bed = try TestBed()
        #expect(mkdir(bed.folder.path + "/other", 0o755) == 0)
        let database = bed.folder.path + "/other/app.db"
        _ = try await ChildProcess.run("sqlite3", [database, "CREATE TABLE t (a)"])
        let daemon = try bed.launch(["--database", database])
        #expect(await daemon.waitForEnd() == .exited(78))
        #expect(daemon.errors.text.contains("is an SQLite database of another program"))
        #expect(try names(in: bed.folder.path + "/other") == ["app.db"])
    }

    @Test(.timeLimit(.minutes(1)))
    func aRefusedReloadIsAboutTheConfiguration() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try bed.configure("slotz: 1")
            let refused = try await bed.halyard("reload", "--json")
            #expect(refused.status == .exited(78))
            #expect(
                refused.errors.contains(#""type":"urn:halyard:problem:invalid-configuration""#), "\(refused.errors)")
        }
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }
}
