import Foundation
import Glibc
import JobFiles
import Jobs
import Logging
import OperationTypes
import Programs
import Testing

@testable import ProgramKind

/// A log that cannot be written does not fail the attempt.
@Suite struct FullDiskTests {
    @Test(.enabled(if: geteuid() == 0, "only root may mount a small disk"))
    func aFullDiskEndsTheLogAndNotTheAttempt() async throws {
        let bench = try Bench()
        let disk = bench.folder + "/disk"
        #expect(mkdir(disk, 0o700) == 0)
        let mount = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk])
        // A container may forbid it.
        guard mount.status == .exited(0) else { return }
        let files = JobFiles(folder: disk + "/files")
        bench.host.keep(in: JobProgramFiles(files, logger: Logger(label: "test")))
        let attempt = try bench.start(Bench.script("yes | head -c 1000000 >&2; echo done", #","result":"text""#))
        #expect(await attempt.ended.uncancellableWait().output == #""done""#)
        #expect(files.isLive(attempt.lease) == false)
        let log = try #require(try? FileManager.default.subpathsOfDirectory(atPath: disk))
        #expect(!log.isEmpty)
        let unmount = try await ChildProcess.run("umount", [disk])
        #expect(unmount.status == .exited(0), "\(unmount.errors)")
    }
}
