import Glibc
import Programs
import Testing

@Suite(.serialized) struct RestoredDatabaseTests {
    /// A backup may have been copied with any mode, with or without its write-ahead log.
    @Test(.timeLimit(.minutes(2)), arguments: [0o644, 0o666, 0o600, 0o640, 0o755])
    func aRestoredDatabaseIsOpenToNobodyElse(mode: Int) async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try await bed.enqueue("visit", "\(bed.server.site)/page/1", "--in", "1h")
            // The daemon is killed so that it leaves a log.
            daemon.signal(SIGKILL)
            _ = await daemon.waitForEnd()
        }
        func modes() throws -> [mode_t] {
            try ["", "-wal", "-shm"].map { suffix in
                var status = stat()
                try #require(stat(bed.database + suffix, &status) == 0)
                return status.st_mode & 0o7777
            }
        }
        for suffix in ["", "-wal", "-shm"] { #expect(chmod(bed.database + suffix, mode_t(mode)) == 0) }
        try await bed.withDaemon { daemon in
            let narrowed = try modes()
            #expect(narrowed.allSatisfy { $0 & ~0o640 == 0 }, "\(narrowed)")
            #expect(daemon.errors.text.contains("narrowed to") == (mode & ~0o640 != 0), "\(daemon.errors.text)")
            #expect(try await bed.ask("SELECT count(*) FROM job") == "1")
        }
    }

    /// A mistyped path may name the database of another program.
    @Test(.timeLimit(.minutes(2))) func aForeignDatabaseKeepsItsMode() async throws {
        let bed = try TestBed()
        _ = try await ChildProcess.run("sqlite3", [bed.database, "CREATE TABLE song (title)"])
        try #require(chmod(bed.database, 0o644) == 0)
        let daemon = try bed.spawn(
            binary("halyardd"), ["--config", bed.configuration], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(await daemon.waitForEnd() == .exited(78))
        #expect(daemon.errors.text.contains("another program"), "\(daemon.errors.text)")
        var status = stat()
        #expect(stat(bed.database, &status) == 0 && status.st_mode & 0o7777 == 0o644)
    }
}
