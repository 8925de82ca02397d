import Glibc
import JobFiles
import Jobs
import Programs
import SQLiteStore
import Testing

/// `halyardd --once`.
@Suite(.serialized) struct OnceTests {
    @Test(.timeLimit(.minutes(2)))
    func onceRunsWhatIsThereAndLeavesWhatComesLater() async throws {
        let bed = try TestBed()
        // Makes the database; nothing is there to run.
        let empty = try bed.launch(["--once"])
        #expect(await empty.waitForEnd() == .exited(0))
        try await bed.enqueue("visit-twice", "\(bed.server.site)/page/1", "\(bed.server.site)/page/2")
        try await bed.enqueue("visit", "\(bed.server.site)/page/3", "--in", "1h")
        try await bed.enqueue("visit", "\(bed.server.site)/gate/4")
        let once = try bed.launch(["--once"])
        await bed.server.requests.first { $0.hasSuffix("/gate/4") }
        let status = try await ChildProcess.run(
            binary("halyard"), ["status"],
            environment: ["HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": bed.database])
        #expect(status.output.contains("a run of halyardd --once, which has no socket"), "\(status.output)")
        bed.server.openGate()
        #expect(await once.waitForEnd() == .exited(0))
        #expect(try await bed.ask("SELECT state FROM job ORDER BY id") == "4\n4\n1\n4")
        #expect(access(bed.socket, F_OK) != 0)
    }

    /// The attempt that kept the file crashed before its success was stored; the job then ends with another attempt.
    @Test(.timeLimit(.minutes(2)))
    func onceSettlesTheFilesOfItsJobs() async throws {
        let bed = try TestBed()
        let empty = try bed.launch(["--once"])
        #expect(await empty.waitForEnd() == .exited(0))
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        let files = JobFiles(nextTo: bed.database)
        let source = try bed.folder.write("content", to: "source")
        _ = try files.keep(source, of: Lease(job: JobID(1), attempt: 9), name: "file")
        #expect(try files.unsettledJobs() == [JobID(1)])
        let once = try bed.launch(["--once"])
        #expect(await once.waitForEnd() == .exited(0), "\(once.errors.text)")
        #expect(try await bed.ask("SELECT state FROM job ORDER BY id") == "4")
        #expect(try files.unsettledJobs().isEmpty)
        #expect(try files.file(of: JobID(1)) == nil)
    }

    /// P1: what was accepted is written before it ends, even where none of it may run.
    @Test(.timeLimit(.minutes(2)))
    func onceWritesTheRestOfAnAcceptedGraph() async throws {
        let bed = try TestBed()
        try await leaveUnwritten(jobs: 40_000, in: bed)
        let once = try bed.launch(["--once"])
        #expect(await once.waitForEnd() == .exited(0), "\(once.errors.text)")
        #expect(try await bed.ask("SELECT count(*) FROM staged_part") == "0")
        #expect(try await bed.ask("SELECT count(*) FROM job") == "40000")
    }

    /// A damaged part stays damaged.
    @Test(.timeLimit(.minutes(2)))
    func onceEndsAlthoughAGraphCannotBeWritten() async throws {
        let bed = try TestBed()
        try await leaveUnwritten(jobs: 40_000, in: bed)
        let damage = "UPDATE staged_part SET body = x'FF' WHERE graph_id > 0"
        #expect(try await ChildProcess.run("sqlite3", [bed.database, damage]).status == .exited(0))
        let once = try bed.launch(["--once"])
        #expect(await once.waitForEnd() == .exited(0), "\(once.errors.text)")
        #expect(once.errors.text.contains("graph 1: some of its jobs cannot be written"), "\(once.errors.text)")
        #expect(try await bed.ask("SELECT count(*) > 0 FROM staged_part") == "1")
    }

    /// Leaves a graph in a paused queue that is accepted and mostly not written, as a crash may.
    private func leaveUnwritten(jobs: Int, in bed: TestBed) async throws {
        let first = try bed.launch(["--once"])
        #expect(await first.waitForEnd() == .exited(0), "\(first.errors.text)")
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: bed.database))
        let now = Timestamp(milliseconds: 1_750_000_000_000)
        _ = try await store.change(QueueChange(name: QueueSettings.defaultName, isPaused: true), now: now)
        let definition = try #require(try await store.definitions().definitions.first).id
        let (changes, told) = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { if case .accepted = $0 { told.yield() } }
        let graph = NewGraph(
            isGraph: true, jobs: Array(repeating: NewJob(definition: definition, input: .emptyObject), count: jobs))
        let enqueued = Task { try await store.enqueue([graph], now: now) }
        _ = await changes.first { true }
        await store.close()
        _ = try await enqueued.value
        observation.cancel()
        #expect(try await bed.ask("SELECT count(*) > 0 FROM staged_part WHERE graph_id > 0") == "1")
    }
}
