import Jobs
import SQLite
import Synchronization
import Testing

@testable import SQLiteStore

/// Requests of very many rows are carried out in slices, between which others write, and the next start resumes them.
@Suite struct LongWorkTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let bench: SlicedStore
    private var now: Timestamp { Self.now }

    init() async throws { bench = try await SlicedStore() }

    // MARK: Enqueueing

    @Test func largeGraphIsWrittenInSmallCommits() async throws {
        let commits = CommitSizes(bench.store)
        let graph = bench.fan(4000, input: JSONText(trusted: Array(#"{"a":1}"#.utf8)))
        let receipt = try await bench.enqueue(graph)
        #expect(receipt.jobs.count == 4001 && receipt.skipped.isEmpty)
        #expect(commits.all.reduce(0, +) == 4001)
        #expect(commits.all.allSatisfy { $0 <= Writer.rowsPerSlice }, "\(commits.all)")
        let counts = try #require(try await bench.store.graph(receipt.graph!)).counts
        #expect(counts[.ready] == 1 && counts[.blocked] == 4000)
        #expect(try await bench.store.edges(of: receipt.graph!).count == 4000)
        try await bench.check()
        await bench.store.close()
    }

    /// One job waits for very many others: its edges do not fit into one slice, and dependents have lower numbers.
    @Test func edgesOfOneJobAreWrittenInSeveralSlices() async throws {
        var jobs = [NewJob(definition: bench.definition, dependencies: [NewDependency(on: .new(3001))])]
        jobs += Array(repeating: NewJob(definition: bench.definition), count: 3000)
        jobs.append(
            NewJob(definition: bench.definition, dependencies: (1...3000).map { NewDependency(on: .new($0)) }))
        let receipt = try await bench.enqueue(NewGraph(isGraph: true, jobs: jobs))
        try await bench.runAll()
        let counts = try #require(try await bench.store.graph(receipt.graph!)).counts
        #expect(counts[.succeeded] == 3002)
        try await bench.check()
        await bench.store.close()
    }

    @Test func refusalsAndKeysWorkForLargeGraphsAsForSmallOnes() async throws {
        var graph = bench.fan(3000)
        graph.jobs[0].queue = "none"
        #expect(try await bench.store.enqueue([graph], now: now) == [.refused(.unknownQueue("none"))])
        graph = bench.fan(3000)
        graph.jobs[0].dependencies = [NewDependency(on: .existing(JobID(99)))]
        #expect(try await bench.store.enqueue([graph], now: now) == [.refused(.unknownDependency(JobID(99)))])
        graph.jobs[0].dependencies = [NewDependency(on: .new(7))]
        guard case .refused(.cycle) = try await bench.store.enqueue([graph], now: now)[0] else {
            Issue.record("a cycle was accepted")
            return
        }
        graph = bench.fan(3000)
        graph.key = IdempotencyKey(name: "once", fingerprint: 7)
        let receipt = try await bench.enqueue(graph)
        #expect(try await bench.store.enqueue([graph], now: now) == [.duplicate(receipt)])
        #expect(try await bench.store.counts().total == 3001)
        try await bench.check()
        await bench.store.close()
    }

    /// The dependency has failed before, so its dependents are skipped, and theirs.
    @Test func largeGraphAfterAFailedJobIsSkipped() async throws {
        let failed = try await bench.finishedJob(.failed(JobFailure(code: "x", message: "y"), timedOut: false))
        var graph = bench.fan(3000)
        graph.jobs[0].dependencies = [NewDependency(on: .existing(failed))]
        let receipt = try await bench.enqueue(graph)
        #expect(try await bench.store.graph(receipt.graph!)?.counts[.skipped] == 3001)
        #expect(receipt.skipped.contains(receipt.jobs[0]))
        try await bench.check()
        await bench.store.close()
    }

    /// P1: the next start discards the parts of a graph that was not accepted.
    @Test func graphThatWasNotAcceptedLeavesNothing() async throws {
        _ = try await bench.stage(bench.fan(3000))
        #expect(try bench.count("SELECT count(*) FROM staged_part") > 0)
        #expect(try await bench.store.counts().total == 0)
        try await bench.restart()
        try await bench.awaitLongWork()
        #expect(try bench.count("SELECT count(*) FROM staged_part") == 0)
        #expect(try await bench.store.counts().total == 0)
        _ = try await bench.enqueue(bench.fan(2500))
        try await bench.check()
        await bench.store.close()
    }

    /// P1: the next start writes an accepted graph, also while its jobs run.
    @Test func acceptedGraphIsWrittenAfterARestart() async throws {
        let graph = bench.fan(5000)
        let staged = try await bench.stage(graph)
        try await bench.stop { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            _ = try writer.writePart(of: staged.staging.graph)
        }
        #expect(try bench.count("SELECT count(*) FROM staged_part") > 0)
        try await bench.restart()
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == 5001)
        try await bench.check()
        await bench.store.close()
    }

    /// One graph's part is damaged. The others are written all the same.
    @Test(.timeLimit(.minutes(1))) func sliceThatKeepsFailingHoldsUpNoOther() async throws {
        let staged = try await bench.stage(bench.fan(3000))
        try await bench.store.write { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            try writer.connection.execute("UPDATE staged_part SET body = x'FF'")
        }
        let (changes, told) = AsyncStream.makeStream(of: [StuckRequest].self)
        let store = bench.store
        let observation = store.observe { if case .condition = $0 { told.yield(store.condition.stuck) } }
        let receipt = try await bench.enqueue(bench.fan(4000))
        #expect(try await bench.store.graph(try #require(receipt.graph))?.counts[.blocked] == 4000)
        let stuck = try #require(await changes.first { !$0.isEmpty })
        #expect(stuck.map(\.subject) == ["graph 1: some of its jobs cannot be written"])
        #expect("\(stuck[0].reason)".contains("part 0 of graph 1 differs from what was written"))
        observation.cancel()
        await bench.store.close()
    }

    /// A cancellation has to wait until the graph is written. Its callers learn that this fails, each at once, and the store
    /// is idle meanwhile.
    @Test(.timeLimit(.minutes(1))) func cancellingAGraphThatCannotBeWrittenFails() async throws {
        let staged = try await bench.stage(bench.fan(3000))
        try await bench.store.write { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            try writer.connection.execute("UPDATE staged_part SET body = x'FF'")
        }
        for _ in 0..<3 {
            await #expect(throws: StoreError.self) { try await bench.store.cancel(graph: GraphID(1), now: Self.now) }
        }
        let next = try await bench.store.write { (writer) throws(SQLiteError) in writer.nextSliceAt }
        #expect(try #require(next) > .now + .milliseconds(500))
        await bench.store.close()
    }

    /// Its cause is gone after a while.
    @Test(.timeLimit(.minutes(1))) func sliceThatFailedIsTriedAgainAndTheEndIsReported() async throws {
        let staged = try await bench.stage(bench.fan(3000))
        let (changes, told) = AsyncStream.makeStream(of: [StuckRequest].self)
        let store = bench.store
        let observation = store.observe { if case .condition = $0 { told.yield(store.condition.stuck) } }
        try await bench.store.write { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            try writer.connection.execute("UPDATE staged_part SET body = CAST(body || x'FF' AS BLOB)")
        }
        var iterator = changes.makeAsyncIterator()
        while let next = await iterator.next(), next.isEmpty {}
        try await bench.store.write { (writer) throws(SQLiteError) in
            try writer.connection.execute("UPDATE staged_part SET body = substr(body, 1, length(body) - 1)")
        }
        while let next = await iterator.next(), !next.isEmpty {}
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == 3001)
        observation.cancel()
        await bench.store.close()
    }

    // MARK: Finishing

    @Test func manyDependentsAreReleasedInSmallCommits() async throws {
        let receipt = try await bench.enqueue(bench.fan(4000))
        let commits = CommitSizes(bench.store)
        try await bench.runAll()
        #expect(commits.all.allSatisfy { $0 <= 2 * Writer.rowsPerSlice + 2 }, "\(commits.all)")
        #expect(try await bench.store.graph(receipt.graph!)?.counts[.succeeded] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func restartResumesReleasing() async throws {
        _ = try await bench.enqueue(bench.fan(4000))
        try await bench.finishFirst(.succeeded(.emptyObject))
        try await bench.restart()
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    /// S3: the new job has an open dependency, too. Releasing it for the first one must not count for the second.
    @Test func jobEnqueuedWhileDependentsAreReleasedWaitsForAllOfItsDependencies() async throws {
        let receipt = try await bench.enqueue(bench.fan(4000))
        let open = try await bench.enqueue(
            NewGraph(isGraph: false, jobs: [NewJob(definition: bench.definition, start: .at(now + .seconds(60)))]))
        try await bench.finishFirst(.succeeded(.emptyObject))
        let late = try await bench.enqueue(
            NewGraph(
                isGraph: false,
                jobs: [
                    NewJob(
                        definition: bench.definition,
                        dependencies: [
                            NewDependency(on: .existing(receipt.jobs[0])), NewDependency(on: .existing(open.jobs[0])),
                            NewDependency(on: .existing(receipt.jobs[0]), condition: .finished),
                        ])
                ]))
        try await bench.awaitLongWork()
        let job = try #require(try await bench.store.job(late.jobs[0]))
        #expect(job.state == .blocked && job.pendingDependencies == 1)
        #expect(try await bench.store.counts()[.ready] == 4000)
        try await bench.check()
        await bench.store.close()
    }

    @Test func manyDependentsOfAFailedJobAreSkipped() async throws {
        // A second level, so that skipped jobs skip their dependents in turn.
        var graph = bench.fan(3000)
        graph.jobs += (1...3000).map {
            NewJob(definition: bench.definition, dependencies: [NewDependency(on: .new($0))])
        }
        _ = try await bench.enqueue(graph)
        try await bench.finishFirst(.failed(JobFailure(code: "x", message: "y"), timedOut: false))
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts()[.skipped] == 6000)
        try await bench.check()
        await bench.store.close()
    }

    // MARK: Cancelling

    /// Also if dependents have lower numbers than their dependencies.
    @Test(arguments: [false, true]) func largeGraphIsCancelledCompletely(isReversed: Bool) async throws {
        let receipt = try await bench.enqueue(isReversed ? bench.reversedFan(4000) : bench.fan(4000))
        let commits = CommitSizes(bench.store)
        let results = try #require(try await bench.store.cancel(graph: receipt.graph!, now: now))
        #expect(results.count == 4001 && results.values.allSatisfy { $0 == .cancelled })
        #expect(commits.all.allSatisfy { $0 <= 2 * Writer.rowsPerSlice }, "\(commits.all)")
        #expect(try await bench.store.graph(receipt.graph!)?.counts[.cancelled] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func restartResumesCancelling() async throws {
        let receipt = try await bench.enqueue(bench.fan(4000))
        try await bench.stop { (writer) throws(SQLiteError) in
            try writer.beginCancelling(receipt.graph!, now: Self.now)
            for _ in 0..<3 { _ = try writer.cancelSlice(of: receipt.graph!) }
        }
        try await bench.restart()
        // No job starts from now on, although most are not cancelled yet.
        try await bench.runAll()
        #expect(try await bench.store.counts()[.cancelled] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func manyJobsAreCancelledTogether() async throws {
        let receipt = try await bench.enqueue(bench.reversedFan(3000))
        let commits = CommitSizes(bench.store)
        let results = try await bench.store.cancel(receipt.jobs + [JobID(999_999)], now: now)
        #expect(results == Array(repeating: .cancelled, count: 3001) + [.unknown])
        #expect(commits.all.allSatisfy { $0 <= 2 * Writer.rowsPerSlice }, "\(commits.all)")
        #expect(try await bench.store.counts()[.cancelled] == 3001)
        try await bench.check()
        await bench.store.close()
    }

    /// The caller was told that the request failed, so its jobs must still run.
    @Test func jobsOfARequestThatFailedAreNotCancelledLater() async throws {
        await bench.store.close()
        try bench.reopen(StoreOptions(busyTimeout: .milliseconds(20), watchesFiles: false))
        let jobs = Array(repeating: NewJob(definition: bench.definition), count: 1500)
        let receipt = try await bench.enqueue(NewGraph(isGraph: true, jobs: jobs))
        let shell = Mutex<Connection?>(nil)
        let observation = bench.store.observe { [path = bench.database] _ in
            // The first part of the cancellation is stored; the others meet the lock.
            shell.withLock { shell in
                guard shell == nil else { return }
                shell = try? Connection(path: path, access: .readWrite)
                try? shell?.execute("BEGIN IMMEDIATE")
            }
        }
        await #expect(throws: StoreError.busy(waitedMilliseconds: 20)) {
            _ = try await bench.store.cancel(receipt.jobs, now: now)
        }
        observation.cancel()
        try shell.withLock { try $0?.execute("ROLLBACK") }
        let claimed = try await bench.store.exchange([], claim: ClaimRequest(slots: 10), now: now).claimed
        #expect(claimed.count == 10)
        await bench.store.close()
    }

    // MARK: Pruning

    @Test func largeGraphIsPruned() async throws {
        _ = try await bench.enqueue(bench.fan(3000))
        try await bench.runAll()
        let step = try await bench.store.prune(bench.everything, below: nil, limit: 1000)
        #expect(step.deleted == 3001)
        #expect(try await bench.store.counts().total == 0)
        #expect(try bench.count("SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM dependency)") == 0)
        #expect(try bench.count("SELECT (SELECT count(*) FROM result) + (SELECT count(*) FROM attempt)") == 0)
        #expect(try bench.count("SELECT count(*) FROM graph") == 0)
        // Numbers are not reused.
        #expect(try await bench.enqueue(bench.fan(1)).jobs[0].rawValue > 3001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func largeGraphWithADependentOutsideStays() async throws {
        let receipt = try await bench.enqueue(bench.fan(3000))
        try await bench.runAll()
        _ = try await bench.enqueue(
            NewGraph(
                isGraph: false,
                jobs: [
                    NewJob(
                        definition: bench.definition, start: .at(now + .seconds(60)),
                        dependencies: [NewDependency(on: .existing(receipt.jobs[2999]))])
                ]))
        let step = try await bench.store.prune(bench.everything, below: nil, limit: 1000)
        #expect(step.deleted == 0 && step.keptByDependents == 3001)
        #expect(try await bench.store.counts().total == 3002)
        #expect(try bench.count("SELECT count(*) FROM pruning") == 0)
        await bench.store.close()
    }

    @Test func restartResumesPruning() async throws {
        let receipt = try await bench.enqueue(bench.fan(3000))
        try await bench.runAll()
        try await bench.stop { (writer) throws(SQLiteError) in
            _ = try writer.beginPruning(receipt.graph!)
            // Far enough that some jobs are gone.
            for _ in 0..<40 { _ = try writer.pruneSlice(of: receipt.graph!) }
        }
        #expect(try bench.count("SELECT count(*) FROM job") < 3001)
        try await bench.restart()
        let graph = NewGraph(
            isGraph: false,
            jobs: [NewJob(definition: bench.definition, dependencies: [NewDependency(on: .existing(receipt.jobs[0]))])])
        #expect(try await bench.store.enqueue([graph], now: now) == [.refused(.unknownDependency(receipt.jobs[0]))])
        try await bench.awaitLongWork()
        #expect(try bench.count("SELECT count(*) FROM job") == 0)
        try await bench.check()
        await bench.store.close()
    }
}
