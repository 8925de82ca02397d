import Foundation
import JobFiles
import Jobs
import Programs
import Testing

/// The logs and files in the folder of a real daemon.
@Suite struct JobFilesTests {
    private func jobs(_ files: JobFiles) throws -> [JobID] {
        var lists = try files.jobsWithFiles(in: 0..<Int64.max)
        var jobs: [JobID] = []
        while let list = try lists.next() { jobs += list }
        return jobs.sorted()
    }

    private func write(_ files: JobFiles, _ job: Int64, _ folder: TemporaryFolder) throws {
        let lease = Lease(job: JobID(job), attempt: 1)
        let log = try files.beginLog(of: lease)
        log.append(Array("line of \(job)\n".utf8))
        log.finish()
        _ = try files.keep(folder.write("content of \(job)", to: "source"), of: lease, name: "file")
    }

    @Test func aDaemonServesTheFilesOfItsJobsAndRemovesThemWithThem() async throws {
        let bed = try TestBed()
        let files = JobFiles(nextTo: bed.database)
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/1", "/page/2"])
            #expect(try await bed.halyard("wait", "1", "2").status == .exited(0))
            try write(files, 1, bed.folder)
            try write(files, 2, bed.folder)
            let log = try await bed.halyard("log", "1")
            #expect(log.output == "line of 1")
            #expect(log.errors.isEmpty)
            let file = try await bed.halyard("result", "2", "--file", "-")
            #expect(file.output == "content of 2")
            #expect(try await bed.halyard("show", "1").output.contains("attempt 1, 10 B, 1 line;"))
            #expect(try await bed.halyard("prune", "--older-than", "0s", "--yes").output == "2 jobs deleted")
            #expect(try jobs(files).isEmpty)
            #expect(try await bed.halyard("log", "1").status == .exited(66))
        }
    }

    @Test func theNextStartRemovesWhatAKilledDaemonLeft() async throws {
        let bed = try TestBed()
        let files = JobFiles(nextTo: bed.database)
        let daemon = try bed.launch()
        try await bed.waitUntilReady(daemon)
        try await bed.enqueueVisits(["/page/1"])
        #expect(try await bed.halyard("wait", "1").status == .exited(0))
        try write(files, 1, bed.folder)
        // A job whose row is gone, and a file of an attempt that no daemon remembers.
        try write(files, 5000, bed.folder)
        try files.beginPruning()
        daemon.signal(SIGKILL)
        _ = await daemon.waitForEnd()
        #expect(try files.unsettledJobs() == [JobID(1), JobID(5000)])
        let from = bed.notifications.heard.all.count
        let next = try bed.launch()
        try await bed.waitUntilReady(next, from: from)
        #expect(try jobs(files) == [JobID(1)])
        #expect(try files.unsettledJobs().isEmpty)
        #expect(!files.isPruning)
        #expect(try await bed.halyard("result", "1", "--file", "-").output == "content of 1")
        await next.stop()
        // Without a daemon, the command reads the files itself.
        #expect(try await bed.halyard("log", "1").output == "line of 1")
    }
}
