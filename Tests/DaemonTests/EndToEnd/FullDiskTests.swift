import Foundation
import Glibc
import Programs
import Testing

private let canMount =
    geteuid() == 0 && system("unshare --mount mount -t tmpfs tmpfs /mnt 2> /dev/null") == 0

/// The real daemon on a real file system without room, some memory that only the daemon's own processes see mounted.
@Suite(
    .enabled(if: canMount, "mounting a file system needs root and a mount namespace"),
    .timeLimit(.minutes(3)))
struct FullDiskTests {
    private let bed: TestBed
    private let disk: String

    init() throws {
        bed = try TestBed()
        disk = bed.folder.path + "/disk"
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        try bed.configure("unfurl: {hop_timeout: 10m, timeout: 20m}")
        // Filling the log may take longer than a silent server is waited for.
        let retried = TestBed.definitions.replacingOccurrences(
            of: "tries: 2, delay: constant, initial: 1h", with: "tries: 20, delay: constant, initial: 1s")
        try bed.folder.write(retried, to: "definitions.yaml")
    }

    private func launch() async throws -> ChildProcess {
        let start = """
            mount -t tmpfs -o size=32m tmpfs \(disk) &&
            exec \(binary("halyardd")) --config \(bed.configuration) --set database=\(disk)/halyard.db
            """
        let daemon = try bed.spawn(
            "unshare", ["--mount", "--propagation", "private", "sh", "-c", start],
            environment: ["NOTIFY_SOCKET": bed.notifications.address, "SWIFT_BACKTRACE": "enable=no"])
        try await bed.waitUntilReady(daemon)
        return daemon
    }

    /// The file, as seen from outside, that takes all the room there is.
    private func filler(of daemon: ChildProcess) -> String { "/proc/\(daemon.pid)/root\(disk)/filler" }

    private func fill(_ daemon: ChildProcess) throws {
        let descriptor = open(filler(of: daemon), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        for size in [1 << 16, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) > 0 {}
            #expect(errno == ENOSPC)
        }
    }

    private func enqueue() async throws -> (status: ChildProcess.End?, output: String, errors: String) {
        try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1", "--in", "1h")
    }

    @Test func aFullDiskIsNamedAndLosesNothing() async throws {
        let daemon = try await launch()
        try await bed.enqueueVisits(["/gate/1"])
        await bed.server.requests.first { $0.hasSuffix("/gate/1") }
        var accepted = 1
        try fill(daemon)

        // The log may still have room for some.
        var answer = try await enqueue()
        while answer.status == .exited(0), !Task.isCancelled {
            accepted += 1
            answer = try await enqueue()
        }
        #expect(answer.status == .exited(75))
        #expect(answer.errors.contains("is full. Free some space; nothing was written."), "\(answer.errors)")
        #expect(await bed.notifications.heard.first { $0.hasPrefix("STATUS=cannot write: The disk that holds") } != nil)
        await daemon.errors.first(containing: "the database cannot be written now")
        #expect(try await bed.halyard("status").output.contains("is full"))

        // An attempt that ends meanwhile is recorded once that is possible.
        bed.server.openGate()
        let from = bed.notifications.heard.all.count
        #expect(unlink(filler(of: daemon)) == 0)
        while try await enqueue().status != .exited(0), !Task.isCancelled {}
        accepted += 1
        #expect(try await bed.halyard("wait", "1").status == .exited(0))
        await daemon.errors.first(containing: "the database can be written again")
        #expect(await bed.notifications.heard.first(from: from) { $0.hasPrefix("STATUS=idle") } != nil)
        #expect(daemon.errors.all.filter { $0.contains("cannot be written now") }.count == 1)
        #expect(daemon.errors.all.filter { $0.contains("can be written again") }.count == 1)
        let jobs = try await bed.halyard("list", "--limit", "10000").output.split(separator: "\n").count - 1
        #expect(jobs == accepted)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    /// A start without room says so, and one with room goes on with the same database.
    @Test func aStartOnAFullDiskSaysWhy() async throws {
        let start = """
            mount -t tmpfs -o size=8m tmpfs \(disk) && cd \(disk) && { cat /dev/zero > filler 2> /dev/null; true; } &&
            exec \(binary("halyardd")) --config \(bed.configuration) --set database=\(disk)/halyard.db
            """
        let daemon = try bed.spawn(
            "unshare", ["--mount", "--propagation", "private", "sh", "-c", start],
            environment: ["NOTIFY_SOCKET": bed.notifications.address, "SWIFT_BACKTRACE": "enable=no"])
        #expect(await daemon.waitForEnd() == .exited(75))
        #expect(daemon.errors.text.contains("free"), "\(daemon.errors.text)")
    }
}
