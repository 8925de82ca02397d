import Glibc
import Programs
import Testing

@Suite(.serialized) struct LockedDatabaseTests {
    /// Callers are refused while nothing else shows it: the daemon has no job whose end it could not record.
    @Test(.timeLimit(.minutes(2)))
    func theStatusAndTheLogSayThatTheDatabaseIsLocked() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            await bed.notifications.heard.first { $0.hasPrefix("STATUS=idle") }
            let holder = try bed.spawn(
                "sh",
                ["-c", "(echo 'BEGIN IMMEDIATE; SELECT 7;'; exec tail -f /dev/null) | exec sqlite3 \(bed.database)"])
            await holder.output.first { $0 == "7" }
            for _ in 1...2 {
                #expect(try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1").status == .exited(75))
            }
            let told = await bed.notifications.heard.first {
                $0.hasPrefix("STATUS=cannot write: The database was locked by another process")
            }
            #expect(told != nil)
            let status = try await bed.halyard("status")
            #expect(status.output.contains("locked by another process"), "\(status.output)")
            await daemon.errors.first(containing: "the database cannot be written now")
            holder.signal(SIGKILL)
            try await ChildProcess.run("pkill", ["-f", "^sqlite3 \(bed.database)"])
            let from = bed.notifications.heard.all.count
            while try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1").status != .exited(0) {}
            await daemon.errors.first(containing: "the database is written again")
            #expect(await bed.notifications.heard.first(from: from) { !$0.contains("cannot write") } != nil)
            #expect(daemon.errors.all.filter { $0.contains("cannot be written now") }.count == 1)
            #expect(daemon.errors.all.filter { $0.contains("is written again") }.count == 1)
        }
    }

    /// Files that no other program wrote.
    @Test(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0))
    func theStatusSaysThatTheDiskIsFull() async throws {
        let bed = try TestBed()
        let mount = bed.folder.path + "/disk"
        #expect(mkdir(mount, 0o755) == 0)
        let mounted = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", "size=24m", "none", mount])
        try #require(mounted.status == .exited(0), "\(mounted.errors)")
        defer { umount2(mount, Int32(MNT_DETACH)) }
        let database = mount + "/halyard.db"
        try await bed.withDaemon(["--database", database]) { daemon in
            try await ChildProcess.run("sh", ["-c", "cat /dev/zero > \(mount)/filler; true"])
            let visit = ["enqueue", "visit", "\(bed.server.site)/page/1", "--in", "1h"]
            let environment = ["HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": database]
            // The log has room for some more.
            var last: ChildProcess.End?
            for _ in 1...4000 where last != .exited(75) {
                last = try await ChildProcess.run(binary("halyard"), visit, environment: environment).status
            }
            #expect(last == .exited(75))
            #expect(await bed.notifications.heard.first { $0.hasPrefix("STATUS=cannot write: The disk") } != nil)
            #expect(unlink(mount + "/filler") == 0)
            let from = bed.notifications.heard.all.count
            #expect(try await ChildProcess.run(binary("halyard"), visit, environment: environment).status == .exited(0))
            #expect(await bed.notifications.heard.first(from: from) { $0.hasPrefix("STATUS=idle") } != nil)
            #expect(daemon.errors.all.filter { $0.contains("cannot be written now") }.count == 1)
        }
    }
}
