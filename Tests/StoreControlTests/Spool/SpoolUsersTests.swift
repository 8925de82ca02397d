import ControlProtocol
import Jobs
import Testing

@testable import SQLiteStore
@testable import StoreControl

/// A file of the spool lives as long as something needs it.
@Suite struct SpoolUsersTests {
    private struct Bench {
        let files: TestStore
        let spool: Spool
        let users: SpoolUsers
        let definition: DefinitionID

        init(_ files: TestStore, maxBytes: Int64 = 1 << 20, home: String? = nil) async throws {
            self.files = files
            spool = try Spool(directory: files.directory + "/spool", maxBytes: maxBytes)
            users = SpoolUsers(spool: spool, store: files.store, home: home)
            definition = try #require(try await files.store.definitions().definitions.first).id
        }

        /// Hands a file over and makes a job that names it.
        func job() async throws -> (graph: NewGraph, file: SpoolName) {
            let content = AsyncStream<[UInt8]> { pieces in
                pieces.yield([1, 2, 3])
                pieces.finish()
            }
            let name = try await users.keep(content, size: 3, now: TestStore.moment)
            let file = try #require(SpooledFile(name)?.name)
            let input = JSONText(trusted: Array("{\"file\":\"\(name)\"}".utf8))
            return (NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)]), file)
        }

        @discardableResult
        func enqueue(_ graph: NewGraph) async throws -> [JobID] {
            let outcomes = try await files.store.enqueue([graph], now: TestStore.moment)
            guard case .enqueued(let receipt)? = outcomes.first else { throw Refused() }
            return receipt.jobs
        }

        struct Refused: Error {}

        func finishAll(children: [NewGraph] = []) async throws {
            try await endAll(.succeeded(.emptyObject, children: children))
        }

        func endAll(_ ending: AttemptEnd.Ending) async throws {
            let claimed = try await files.store.exchange([], claim: ClaimRequest(slots: 10), now: TestStore.moment)
                .claimed
            _ = try await files.store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: ending) }, claim: nil, now: TestStore.moment)
        }

        /// Enqueues the job, ends it with that outcome, and returns its graph's jobs.
        func end(_ graph: NewGraph, as outcome: String) async throws -> [JobID] {
            var graph = graph
            if outcome == "skipped" {
                graph.isGraph = true
                graph.jobs[0].dependencies = [NewDependency(on: .new(1))]
                graph.jobs.append(NewJob(definition: definition))
            }
            let jobs = try await enqueue(graph)
            if outcome == "cancelled" {
                _ = try await files.store.cancel(jobs, now: TestStore.moment)
            } else {
                try await endAll(SpoolUsersTests.failure)
            }
            #expect(try await files.store.job(jobs[0])?.state.name == outcome)
            return jobs
        }

        /// Prunes only these jobs, as ``StoreControl`` does.
        func prune(_ jobs: [JobID]) async throws {
            let below = JobID((jobs.map(\.rawValue).max() ?? 0) + 1)
            let step = try await files.store.prune(
                PruneRequest(finishedBefore: TestStore.moment + .seconds(1)), below: below, limit: jobs.count)
            #expect(step.deleted == jobs.count)
            await users.releasePruned((step.next?.rawValue ?? 0)..<below.rawValue)
            // Waits for the spool's thread, which removes files before it answers this call.
            _ = try await spool.files()
        }
    }

    @Test func onlyItsOwnDaemonChecksAFile() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files, home: "0000000000000000000000000000000a")
            let (graph, file) = try await bench.job()
            #expect(file.home == "0000000000000000000000000000000a")
            #expect(bench.users.problem(of: graph) == nil)
            func problem(_ inputs: String...) -> ControlProblem? {
                let fields = inputs.enumerated().map { "\"f\($0)\":\"spool:\($1)\"" }.joined(separator: ",")
                let input = JSONText(trusted: Array("{\(fields)}".utf8))
                let job = NewJob(definition: bench.definition, input: input)
                return bench.users.problem(of: NewGraph(isGraph: false, jobs: [job]))
            }
            #expect(problem("m1-2-3-a")?.code == .invalidInput)
            #expect(problem("m1-2-3")?.code == .invalidInput)
            // The file of another daemon.
            #expect(problem("m1-2-3-b") == nil)
            let several = problem("m1-2-3-b", "m1-2-3-c")
            #expect(several?.message.contains("several daemons") == true)
        }
    }

    /// The job that needs the file is among very many, so it is written after the commit that ends its parent.
    @Test(.timeLimit(.minutes(1))) func aFileStaysForAChildThatIsNotWrittenYet() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let child = NewGraph(isGraph: false, jobs: [NewJob(definition: bench.definition)])
            try await bench.finishAll(children: Array(repeating: child, count: 3000) + [graph])
            _ = try await bench.spool.files()
            #expect(bench.spool.holds(file))
            while try await files.store.counts().open < 3001 {}
            #expect(bench.spool.holds(file))
        }
    }

    /// A start finds jobs that were accepted but have no row yet.
    @Test func aFileStaysForAJobThatIsOnlyStaged() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            var large = NewGraph(
                isGraph: true, jobs: Array(repeating: NewJob(definition: bench.definition), count: 3000))
            large.jobs += graph.jobs
            guard case .begun(let staged) = try await files.store.stage(large) else { throw Bench.Refused() }
            // No slice follows, as if the process had ended after the commit.
            try await files.store.write { writer in
                #expect((try? writer.accept(staged, now: TestStore.moment)) != nil)
                writer.memory.work = []
            }
            let later = SpoolUsers(spool: bench.spool, store: files.store)
            try await later.recover(now: TestStore.moment + Spool.leftoverAge + .seconds(1))
            _ = try await bench.spool.files()
            #expect(bench.spool.holds(file))
        }
    }

    @Test func aFileGoesWithTheLastJobThatNamesIt() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let running = try await files.store.exchange([], claim: ClaimRequest(slots: 1), now: TestStore.moment)
                .claimed
            try await bench.enqueue(graph)
            _ = try await files.store.exchange(
                running.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject)) }, claim: nil,
                now: TestStore.moment)
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
            #expect(bench.users.problem(of: graph)?.code == .invalidInput)
        }
    }

    /// Between the look at the file and the commit, the last job that named it may end.
    @Test func aFileStaysForARequestThatIsUnderWay() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let held = bench.users.hold(graph)
            #expect(bench.users.problem(of: graph) == nil)
            try await bench.finishAll()
            #expect(try await bench.spool.files() == [file])
            try await bench.enqueue(graph)
            bench.users.release(held)
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aFileGoesWithARequestThatWasRefusedAfterItsLastJobEnded() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            // One that no job has named stays.
            bench.users.release(bench.users.hold(graph))
            #expect(try await bench.spool.files() == [file])
            try await bench.enqueue(graph)
            let held = bench.users.hold(graph)
            try await bench.finishAll()
            bench.users.release(held)
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aChildKeepsTheFileOfItsParent() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            try await bench.finishAll(children: [graph])
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    private static let failure = AttemptEnd.Ending.failed(JobFailure(code: "broken", message: "It broke."))

    /// The caller may have deleted the original, and the job can be retried.
    @Test(arguments: ["failed", "cancelled", "skipped"])
    func aFileStaysForAJobThatEndedWithoutSuccessUntilItIsPruned(outcome: String) async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            let jobs = try await bench.end(graph, as: outcome)
            #expect(try await bench.spool.files() == [file])
            #expect(bench.users.report.keptFiles == 1 && bench.users.report.keptBytes == 3)

            // A restart knows it as well, and does not treat an old file as a leftover.
            let restarted = SpoolUsers(spool: bench.spool, store: files.store)
            try await restarted.recover(now: TestStore.moment + Spool.leftoverAge + .seconds(1))
            #expect(try await bench.spool.files() == [file])
            #expect(restarted.report == bench.users.report)

            // A retry names the same file, which is kept for the retried job when the first one is pruned.
            #expect(bench.users.problem(of: graph) == nil)
            let again = try await bench.enqueue(graph)
            #expect(bench.users.report.keptFiles == 0)
            try await bench.prune(jobs)
            #expect(try await bench.spool.files() == [file])
            try await bench.endAll(Self.failure)
            #expect(bench.users.report.keptFiles == 1)
            try await bench.prune(again)
            #expect(try await bench.spool.files().isEmpty)
            #expect(
                bench.users.report == SpoolReport(files: 0, bytes: 0, maxBytes: 1 << 20, keptFiles: 0, keptBytes: 0))
            #expect(bench.users.problem(of: graph)?.code == .invalidInput)
        }
    }

    @Test func theSuccessOfARetryKeepsTheFileForTheFailedJob() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            let failed = try await bench.end(graph, as: "failed")
            let again = try await bench.enqueue(graph)
            try await bench.finishAll()
            #expect(try await bench.spool.files() == [file])
            try await bench.prune(again)
            #expect(try await bench.spool.files() == [file])
            try await bench.prune(failed)
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    /// The repeated job may be pruned between the retry's check of the file and its commit.
    @Test func aFileIsKeptForARetryInProgressWhileItsJobIsPruned() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            let failed = try await bench.end(graph, as: "failed")
            let held = bench.users.hold(graph)
            #expect(bench.users.problem(of: graph) == nil)
            try await bench.prune(failed)
            #expect(try await bench.spool.files() == [file])
            try await bench.enqueue(graph)
            bench.users.release(held)
            #expect(try await bench.spool.files() == [file])
        }
    }

    /// `halyard prune` also works without a daemon, and then no process removes files.
    @Test func theFileOfAJobPrunedWithoutADaemonBecomesALeftover() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            _ = try await bench.end(graph, as: "failed")
            _ = try await files.store.prune(
                PruneRequest(finishedBefore: TestStore.moment + .seconds(1)), below: nil, limit: 10)
            let restarted = SpoolUsers(spool: bench.spool, store: files.store)
            try await restarted.recover(now: TestStore.moment)
            #expect(try await bench.spool.files() == [file])
            try await restarted.recover(now: TestStore.moment + Spool.leftoverAge + .seconds(1))
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aFullSpoolSaysWhatToPrune() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files, maxBytes: 5)
            let (graph, _) = try await bench.job()
            let jobs = try await bench.end(graph, as: "failed")
            let problem = await #expect(throws: ControlProblem.self) { try await bench.job() }
            #expect(
                problem?.message
                    == "The spool is full: 3 of 5 bytes are in use, 3 of them by 1 file of jobs that failed, were cancelled or were skipped. Prune such jobs (halyard prune --older-than 1d --outcome failed --outcome cancelled --outcome skipped), try again when other jobs have ended, or raise spool.limit."
            )
            try await bench.prune(jobs)
            _ = try await bench.job()
        }
    }

    @Test func aNewStartLearnsWhoNeedsWhat() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let restarted = SpoolUsers(spool: bench.spool, store: files.store)
            try await restarted.recover(now: TestStore.moment + Spool.leftoverAge + .seconds(1))
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }
}
