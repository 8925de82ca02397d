import Glibc
import Programs
import Testing

@Suite struct MemoryPressureTests {
    /// A named pipe in place of the kernel's file, as systemd's interface allows.
    @Test(.timeLimit(.minutes(2))) func memoryPressureMakesTheDaemonFreeItsCaches() async throws {
        let bed = try TestBed()
        let path = bed.folder.path + "/pressure"
        try #require(mkfifo(path, 0o600) == 0)
        let pipe = open(path, O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        defer { close(pipe) }
        let watched = ["MEMORY_PRESSURE_WATCH": path]
        try await bed.withDaemon(["--set", "log.level=debug"], environment: watched) { daemon in
            try await bed.enqueue("visit", bed.server.site + "/page/1")
            #expect(write(pipe, "x", 1) == 1)
            let first = try #require(await daemon.errors.first(containing: "memory is short: freed "))
            #expect(!first.line.contains("freed 0 KiB"), "\(first.line)")
            // It reads them again, and reports the next pressure.
            #expect(try await bed.halyard("wait", "1").status == .exited(0))
            #expect(write(pipe, "x", 1) == 1)
            #expect(await daemon.errors.first(from: first.index + 1, containing: "memory is short: freed ") != nil)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["/dev/null", "/nonexistent"])
    func whereNothingCanBeWatchedTheDaemonRuns(path: String) async throws {
        let bed = try TestBed()
        try await bed.withDaemon(environment: ["MEMORY_PRESSURE_WATCH": path]) { daemon in
            try await bed.enqueue("visit", bed.server.site + "/page/1")
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
    }
}
