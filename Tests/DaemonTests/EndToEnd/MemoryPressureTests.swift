import Foundation
import Glibc
import Programs
import Testing

/// Two control groups that may be the same: one whose memory pressure the kernel reports, one with a limit of memory.
private final class PressedGroup: Sendable {
    /// Prints the two groups, or fails.
    private static let make = """
        pressed=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/$0
        mkdir "$pressed" && limited=$pressed && cat "$pressed/memory.pressure" > /dev/null &&
        if [ -e "$pressed/memory.max" ]; then
            echo 16M > "$pressed/memory.max"
        else
            limited=$(findmnt -n -t cgroup -O memory -o TARGET | head -n 1)/$0
            mkdir "$limited" && echo 16M > "$limited/memory.limit_in_bytes"
        fi &&
        echo "$pressed" && echo "$limited"
        """

    static var isPossible: Bool {
        get async { (try? await PressedGroup("halyard-probe-\(getpid())")) != nil }
    }

    let path: String
    private let limited: String
    /// A file of nothing but a hole, beside the programs: it must be on a disk, whose pages the kernel gives up.
    private let hole = binary("pressure-\(getpid())")

    init(_ name: String) async throws {
        let made = try await ChildProcess.run("sh", ["-c", Self.make, name])
        let paths = made.output.split(separator: "\n").map(String.init)
        try #require(made.status == .exited(0) && paths.count == 2, "\(made)")
        (path, limited) = (paths[0], paths[1])
    }

    deinit {
        for folder in [limited, path] { rmdir(folder) }
        unlink(hole)
    }

    /// Starts a program that reads without end and has memory for little of it.
    func press(_ bed: TestBed) throws -> ChildProcess {
        let reader = """
            echo $$ > "$0/cgroup.procs" && echo $$ > "$1/cgroup.procs" && truncate -s 1T "$2" && exec cat "$2" > /dev/null
            """
        return try bed.spawn("sh", ["-c", reader, path, limited, hole])
    }
}

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
            let first = try #require(await daemon.errors.first(containing: "memory is low: freed "))
            #expect(!first.line.contains("freed 0 KiB"), "\(first.line)")
            // It reads them again, and reports the next pressure.
            #expect(try await bed.halyard("wait", "1").status == .exited(0))
            #expect(write(pipe, "x", 1) == 1)
            #expect(await daemon.errors.first(from: first.index + 1, containing: "memory is low: freed ") != nil)
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        .enabled("needs root, a kernel that reports memory pressure, and a control group that limits memory") {
            await PressedGroup.isPossible
        })
    func theKernelsReportMakesTheDaemonFreeItsCaches() async throws {
        let bed = try TestBed()
        let group = try await PressedGroup("halyard-test-\(getpid())")
        // The setting that systemd passes by default.
        let setting = Data("some 200000 2000000\0".utf8).base64EncodedString()
        let watched = ["MEMORY_PRESSURE_WATCH": group.path + "/memory.pressure", "MEMORY_PRESSURE_WRITE": setting]
        try await bed.withDaemon(["--set", "log.level=debug"], environment: watched) { daemon in
            try await bed.enqueue("visit", bed.server.site + "/page/1")
            let reader = try group.press(bed)
            let freed = try #require(await daemon.errors.first(containing: "memory is low: freed "))
            #expect(!freed.line.contains("freed 0 KiB"), "\(freed.line)")
            await reader.stop()
            #expect(try await bed.halyard("wait", "1").status == .exited(0))
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
