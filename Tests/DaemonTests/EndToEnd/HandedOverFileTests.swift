import Foundation
import Glibc
import Programs
import Synchronization
import Testing

/// A file sent to the daemon may be the only copy: the real daemon keeps it while it may be needed, also across
/// crashes.
@Suite(.serialized) struct HandedOverFileTests {
    private func spooled(_ bed: TestBed) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bed.folder.path + "/spool")
    }

    private func handOver(_ bed: TestBed) async throws {
        let path = try bed.folder.write("the only copy", to: "photo")
        let answer = try await bed.halyard(
            "upload", path, "--copy", "--definition", "send", "--to", bed.server.site + "/inbox/photo")
        try #require(answer.status == .exited(0), "\(answer.errors)")
        #expect(unlink(path) == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func aRetryOfAnUploadThatFailedForGoodSendsTheFile() async throws {
        let bed = try TestBed()
        bed.server.uploadStatus.withLock { $0 = "401 Unauthorized" }
        try await bed.withDaemon { daemon in
            try await handOver(bed)
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs") == "failed")
            #expect(try spooled(bed).count == 1)
            daemon.signal(SIGKILL)
            #expect(await daemon.waitForEnd() == .killed(by: SIGKILL))
        }
        bed.server.uploadStatus.withLock { $0 = "201 Created" }
        try await bed.withDaemon { _ in
            let status = try await bed.halyard("status")
            #expect(status.output.contains("1 file, 13 B of 16.0 GiB; 1 file (13 B) kept for jobs that failed"))
            let retry = try await bed.halyard("retry", "1", "--wait")
            #expect(retry.status == .exited(0), "\(retry.errors)")
            #expect(try await bed.ask("SELECT value ->> 'bytes' FROM results WHERE job = 2") == "13")
            let prune = try await bed.halyard("prune", "--older-than", "0s", "--yes")
            #expect(prune.status == .exited(0), "\(prune.errors)")
            let after = try await bed.halyard("status", "--json")
            #expect(after.output.contains("\"kept_files\":0"), "\(after.output)")
        }
        #expect(try spooled(bed).isEmpty)
    }

    @Test(.timeLimit(.minutes(2)))
    func aRetryOfACancelledUploadSendsTheFile() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try await bed.halyard("queues", "pause", "network")
            try await handOver(bed)
            #expect(try await bed.halyard("cancel", "1").status == .exited(0))
            try await bed.halyard("queues", "resume", "network")
            let retry = try await bed.halyard("retry", "1", "--wait")
            #expect(retry.status == .exited(0), "\(retry.errors)")
        }
        #expect(bed.server.received(at: "/inbox/photo") == 13)
        // Job 1 still names the file.
        #expect(try spooled(bed).count == 1)
    }
}
