import ControlProtocol
import Foundation
import JobFiles
import Jobs
import OperationTypes
import SQLiteStore
import Testing

@testable import StoreControl

/// The files of jobs disappear with their jobs, also after a crash.
@Suite struct JobFilesTests {
    private struct Bench {
        let store: TestStore
        let files: JobFiles

        static func with(_ body: (Bench) async throws -> Void) async throws {
            try await TestStore.with { store in
                try await body(Bench(store: store, files: JobFiles(nextTo: store.database)))
            }
        }

        /// As a daemon, or as a command.
        func control(asDaemon: Bool = true) -> StoreControl {
            StoreControl(
                store: store.store, database: store.database, version: "test",
                daemon: asDaemon
                    ? DaemonHooks(
                        condition: { .init(state: .running, pid: 42, startedAt: TestStore.moment) }, files: files)
                    : nil, now: { TestStore.moment })
        }

        /// Runs one job, which writes a log and keeps a file.
        func runJob(_ control: StoreControl, ending: AttemptEnd.Ending?) async throws -> Lease {
            _ = try await control.enqueue(Submission(.definition("echo")))
            let claimed = try await store.store.exchange(
                [], claim: ClaimRequest(slots: 1), now: TestStore.moment
            ).claimed
            let lease = try #require(claimed.first).lease
            let log = try files.beginLog(of: lease)
            log.append(Array("line\n".utf8))
            log.finish()
            let source = files.folder + "/source"
            try Data("abc".utf8).write(to: URL(filePath: source))
            _ = try files.keep(source, of: lease, name: "out")
            if let ending {
                _ = try await store.store.exchange(
                    [AttemptEnd(lease: lease, ending: ending)], claim: nil, now: TestStore.moment)
            }
            return lease
        }

        func jobsWithFiles() throws -> [JobID] {
            var lists = try files.jobsWithFiles(in: 0..<Int64.max)
            var jobs: [JobID] = []
            while let list = try lists.next() { jobs += list }
            return jobs.sorted()
        }
    }

    private static let all = PruneRequest(
        finishedBefore: TestStore.moment + .seconds(1), outcomes: Set(Outcome.allCases))

    @Test(arguments: [true, false]) func pruningRemovesFiles(asDaemon: Bool) async throws {
        try await Bench.with { bench in
            let control = bench.control(asDaemon: asDaemon)
            let ended = try await bench.runJob(control, ending: .succeeded(.emptyObject))
            let running = try await bench.runJob(control, ending: nil)
            #expect(try bench.jobsWithFiles() == [ended.job, running.job])
            #expect(try await control.prune(Self.all).deleted == 1)
            #expect(try bench.jobsWithFiles() == [running.job])
            #expect(!bench.files.isPruning)
        }
    }

    /// Reading a large content takes long.
    @Test func aContentIsCheckedBesideOtherOperations() async throws {
        try await Bench.with { bench in
            let control = bench.control(asDaemon: false)
            let lease = try await bench.runJob(control, ending: .succeeded(.emptyObject))
            let isChecked = DispatchSemaphore(value: 0)
            let wasReleased = Latch<Bool>()
            control.fileThread.start {
                wasReleased.open(with: isChecked.wait(timeout: .now() + 60) == .success)
            }
            #expect(try await control.file(of: lease.job).file.name == "out")
            isChecked.signal()
            #expect(await wasReleased.uncancellableWait())
        }
    }

    @Test func aCrashDuringAPruneLeavesNothingAfterTheNextStart() async throws {
        try await Bench.with { bench in
            let control = bench.control()
            let ended = try await bench.runJob(control, ending: .succeeded(.emptyObject))
            let running = try await bench.runJob(control, ending: nil)
            // The rows are gone and the files are not: as after a crash between the two.
            try bench.files.beginPruning()
            #expect(try await bench.store.store.prune(Self.all, below: nil, limit: 10).deleted == 1)
            #expect(try bench.jobsWithFiles() == [ended.job, running.job])
            try await bench.control().recoverFiles()
            #expect(try bench.jobsWithFiles() == [running.job])
            #expect(!bench.files.isPruning)
            // A start without a mark reads no folders of jobs, so it would not notice these.
            try bench.files.beginLog(of: Lease(job: JobID(77), attempt: 1)).finish()
            try await bench.control().recoverFiles()
            #expect(try bench.jobsWithFiles() == [running.job, JobID(77)])
            // A prune that finds the mark of another also looks everywhere.
            try bench.files.beginPruning()
            _ = try await control.prune(Self.all)
            #expect(try bench.jobsWithFiles() == [running.job])
        }
    }

    @Test func aFileWhoseSuccessWasNotStoredIsRemovedAtTheNextStart() async throws {
        try await Bench.with { bench in
            // No daemon follows the jobs, as if it had been killed.
            let command = bench.control(asDaemon: false)
            let failed = try await bench.runJob(
                command, ending: .failed(JobFailure(code: "x", message: "No.")))
            let succeeded = try await bench.runJob(command, ending: .succeeded(.emptyObject))
            let running = try await bench.runJob(command, ending: nil)
            #expect(try bench.files.unsettledJobs() == [failed.job, succeeded.job, running.job])
            try await bench.control().recoverFiles()
            #expect(try bench.files.unsettledJobs() == [running.job])
            #expect(try bench.files.file(of: failed.job) == nil)
            #expect(try bench.files.file(of: succeeded.job)?.name == "out")
            #expect(try bench.files.file(of: running.job)?.name == "out")
            #expect(try bench.files.attemptsWithLog(of: failed.job) == [1])
        }
    }

    @Test func aFileFromBeforeTheStartIsSettledWhenItsJobEnds() async throws {
        try await Bench.with { bench in
            let lease = try await bench.runJob(bench.control(asDaemon: false), ending: nil)
            // The next daemon knows only what is on the disk.
            let next = Bench(store: bench.store, files: JobFiles(nextTo: bench.store.database))
            let control = next.control()
            #expect(!next.files.isUnsettled(lease.job))
            try await control.recoverFiles()
            #expect(next.files.isUnsettled(lease.job))
            let end = AttemptEnd(lease: lease, ending: .failed(JobFailure(code: "x", message: "No.")))
            _ = try await bench.store.store.exchange([end], claim: nil, now: TestStore.moment)
            // The daemon's own thread settles it; this waits for that thread.
            try await control.fileThread.run { () throws(JobFilesError) in }
            #expect(try next.files.unsettledJobs().isEmpty)
            #expect(try next.files.file(of: lease.job) == nil)
        }
    }

    @Test func onlyTheFileOfTheAttemptThatSucceededIsServed() async throws {
        try await Bench.with { bench in
            // A command settles nothing, so the files of both attempts stay.
            let control = bench.control(asDaemon: false)
            let lease = try await bench.runJob(control, ending: .succeeded(.emptyObject))
            let source = bench.files.folder + "/source"
            try Data("other".utf8).write(to: URL(filePath: source))
            let other = Lease(job: lease.job, attempt: lease.attempt + 1)
            _ = try bench.files.keep(source, of: other, name: "other")
            #expect(try await control.file(of: lease.job).file.name == "out")
            #expect(try await control.job(lease.job).file?.name == "out")
            try bench.files.settle(lease.job, keeping: other.attempt)
            let problem = await #expect(throws: ControlProblem.self) { try await control.file(of: lease.job) }
            #expect(problem?.code == .notFound)
            #expect(try await control.job(lease.job).file == nil)
        }
    }

    @Test func aDaemonSettlesFilesWhenJobsEnd() async throws {
        try await Bench.with { bench in
            let control = bench.control()
            let failed = try await bench.runJob(control, ending: .failed(JobFailure(code: "x", message: "No.")))
            let succeeded = try await bench.runJob(control, ending: .succeeded(.emptyObject))
            // The daemon's own thread does it; this waits for that thread.
            try await control.fileThread.run { () throws(JobFilesError) in }
            #expect(try bench.files.unsettledJobs().isEmpty)
            #expect(try bench.files.file(of: failed.job) == nil)
            #expect(try bench.files.file(of: succeeded.job)?.name == "out")
        }
    }
}
