import CalendarEvents
import Jobs
import SQLite
import Testing

@testable import SQLiteStore

/// Requests that are stored in parts before one transaction accepts them: a job with very many dependencies, what a schedule
/// fires, and the children of an attempt.
@Suite struct StagedRequestTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let bench: SlicedStore
    private var now: Timestamp { Self.now }

    init() async throws { bench = try await SlicedStore() }

    private func expectSmall(_ commits: CommitSizes) {
        #expect(commits.all.allSatisfy { $0 <= 2 * Writer.rowsPerSlice + 2 }, "\(commits.all)")
    }

    // MARK: A job with very many dependencies

    private func jobAfter(_ jobs: [JobID], key: IdempotencyKey? = nil) -> NewGraph {
        NewGraph(
            isGraph: false,
            jobs: [
                NewJob(
                    definition: bench.definition, input: .emptyObject,
                    dependencies: jobs.map { NewDependency(on: .existing($0)) })
            ], key: key)
    }

    @Test func jobWithVeryManyDependenciesWaitsForAll() async throws {
        let parents = try await bench.enqueue(bench.fan(3000)).jobs
        let key = IdempotencyKey(name: "once", fingerprint: 7)
        let receipt = try await bench.enqueue(jobAfter(parents, key: key))
        #expect(receipt.graph == nil && receipt.jobs.count == 1)
        #expect(try await bench.store.enqueue([jobAfter(parents, key: key)], now: now) == [.duplicate(receipt)])
        let job = try #require(try await bench.store.job(receipt.jobs[0]))
        #expect(job.state == .blocked && job.pendingDependencies == 3001 && job.graph == nil)
        try await bench.check()
        try await bench.runAll()
        #expect(try await bench.store.job(receipt.jobs[0])?.state == .succeeded)
        try await bench.check()
        await bench.store.close()
    }

    @Test func edgesOfALoneJobAreWrittenAfterARestart() async throws {
        let parents = try await bench.enqueue(bench.fan(3000)).jobs
        let graph = jobAfter(parents, key: IdempotencyKey(name: "once", fingerprint: 7))
        let staged = try await bench.stage(graph)
        try await bench.stop { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            _ = try writer.writePart(of: staged.staging.graph)
        }
        let written = try bench.count("SELECT count(*) FROM dependency WHERE dependent_id = 3002")
        #expect(written > 0 && written <= Writer.rowsPerSlice)
        try await bench.restart()
        // Dependencies of edges that are not written yet must not be pruned.
        try await bench.runAll()
        guard case .duplicate(let receipt) = try await bench.store.enqueue([graph], now: now)[0] else {
            Issue.record("the key was lost")
            return
        }
        let job = try #require(try await bench.store.job(receipt.jobs[0]))
        #expect(job.state == .succeeded && job.enqueuedAt == now)
        #expect(try bench.count("SELECT count(*) FROM dependency WHERE dependent_id = 3002") == 3001)
        try await bench.check()
        await bench.store.close()
    }

    /// P1
    @Test func loneJobThatWasNotAcceptedLeavesNothing() async throws {
        let parents = try await bench.enqueue(bench.fan(3000)).jobs
        _ = try await bench.stage(jobAfter(parents))
        try await bench.restart()
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == 3001)
        try await bench.check()
        await bench.store.close()
    }

    /// The rest of its edges belongs to nothing.
    @Test func loneJobThatIsPrunedWhileItIsWrittenIsGone() async throws {
        let parents = try await bench.enqueue(bench.fan(3000)).jobs
        let staged = try await bench.stage(jobAfter(parents))
        let job = JobID(staged.staging.firstJob)
        try await bench.stop { (writer) throws(SQLiteError) in
            _ = try writer.accept(staged, now: Self.now)
            _ = try writer.writePart(of: staged.staging.graph)
            _ = try writer.cancel([job], now: Self.now)
            _ = try writer.prune([.job(job)])
        }
        try await bench.restart()
        try await bench.check()
        #expect(try await bench.store.counts().total == 3001)
        #expect(try bench.count("SELECT count(*) FROM dependency WHERE dependent_id = 3002") == 0)
        await bench.store.close()
    }

    /// P1: a transaction that fails for another request's sake is carried out again, and finds the parts.
    @Test(arguments: [true, false]) func acceptanceThatWasRolledBackCanBeRepeated(isGraph: Bool) async throws {
        let parents = try await bench.enqueue(bench.fan(3000)).jobs
        let staged = try await bench.stage(isGraph ? bench.fan(3000) : jobAfter(parents))
        for _ in 1...2 {
            await #expect(throws: StoreError.self) {
                try await bench.store.write { (writer) throws(SQLiteError) in
                    _ = try writer.accept(staged, now: Self.now)
                    throw SQLiteError(code: SQLiteError.Primary.mismatch.rawValue, message: "of another request")
                }
            }
            try await bench.awaitLongWork()
        }
        let outcome = try await bench.store.write { (writer) throws(SQLiteError) in
            try writer.accept(staged, now: Self.now)
        }
        guard case .enqueued(let receipt) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == Int64(3001 + receipt.jobs.count))
        try await bench.check()
        await bench.store.close()
    }

    // MARK: Schedules

    private func firing(_ graph: NewGraph) async throws -> ScheduleFiring {
        if try await bench.store.schedule("hourly") == nil {
            let schedule = Schedule(name: "hourly", calendar: [try CalendarExpression("hourly")], definition: "a")
            try await bench.store.change(DefinitionChange(schedules: [schedule]), now: now)
            let record = try #require(try await bench.store.schedule("hourly"))
            try await bench.store.plan([ScheduleTiming(record, after: now, nextAt: now + .seconds(5))])
        }
        let record = try #require(try await bench.store.schedule("hourly"))
        let timing = ScheduleTiming(record, after: now + .seconds(5), nextAt: now + .seconds(3605))
        return ScheduleFiring(timing, .enqueue(graph))
    }

    @Test func largeGraphOfAScheduleIsFiredInSmallCommits() async throws {
        let commits = CommitSizes(bench.store)
        let firing = try await firing(bench.fan(4000))
        guard case .fired(let receipt) = try await bench.store.fire(firing, now: now) else {
            Issue.record("it was not fired")
            return
        }
        // Not twice for one time; the parts of the second are deleted.
        #expect(try await bench.store.fire(firing, now: now) == .stale)
        try await bench.awaitLongWork()
        #expect(commits.all.reduce(0, +) == 4001)
        expectSmall(commits)
        #expect(try await bench.store.schedule("hourly")?.lastGraph == receipt.graph)
        try await bench.runAll()
        #expect(try await bench.store.graph(receipt.graph!)?.counts[.succeeded] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func firingIsKeptOverARestartWithAllOfItsGraph() async throws {
        let graph = bench.fan(4000)
        let firing = try await firing(graph)
        // Killed before the firing: nothing has happened.
        _ = try await bench.stage(graph)
        try await bench.restart()
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == 0)
        // Killed after it.
        let staged = try await bench.stage(graph)
        try await bench.stop { (writer) throws(SQLiteError) in
            _ = try writer.fire(firing, now: Self.now) { (_) throws(SQLiteError) in
                try writer.accept(staged, now: Self.now)
            }
            _ = try writer.writePart(of: staged.staging.graph)
        }
        try await bench.restart()
        #expect(try await bench.store.fire(firing, now: now) == .stale)
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == 4001)
        try await bench.check()
        await bench.store.close()
    }

    @Test func largeGraphOfAScheduleIsRunNow() async throws {
        _ = try await firing(bench.fan(1))
        let commits = CommitSizes(bench.store)
        guard case .enqueued(let receipt) = try await bench.store.run(schedule: "hourly", bench.fan(3000), now: now)
        else {
            Issue.record("it was not run")
            return
        }
        #expect(try await bench.store.graph(receipt.graph!)?.counts[.blocked] == 3000)
        #expect(try await bench.store.run(schedule: "none", bench.fan(3000), now: now) == nil)
        expectSmall(commits)
        try await bench.check()
        #expect(try await bench.store.counts().total == 3001)
        await bench.store.close()
    }

    // MARK: Children

    private func children() -> [NewGraph] {
        let lone = (0..<3000).map { index in
            NewGraph(
                isGraph: false,
                jobs: [NewJob(definition: bench.definition, input: .emptyObject, queue: index < 10 ? "new" : "default")]
            )
        }
        return lone + [bench.fan(3000), bench.fan(3)]
    }

    private func end() async throws -> AttemptEnd {
        _ = try await bench.enqueue(NewGraph(isGraph: false, jobs: [NewJob(definition: bench.definition)]))
        let claimed = try await bench.store.exchange([], claim: ClaimRequest(slots: 1), now: now).claimed
        return AttemptEnd(
            lease: try #require(claimed.first?.lease), ending: .succeeded(.emptyObject, children: children()))
    }

    @Test func veryManyChildrenAreWrittenInSmallCommits() async throws {
        let end = try await end()
        let commits = CommitSizes(bench.store)
        let answer = try await bench.store.exchange([end], claim: nil, now: now)
        #expect(answer.finished == [.recorded(.succeeded)])
        try await bench.awaitLongWork()
        expectSmall(commits)
        #expect(try await bench.store.counts().total == 1 + 3000 + 3001 + 4)
        // A second end of the same attempt changes nothing.
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.leaseLost])
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == 1 + 3000 + 3001 + 4)
        try await bench.check()
        await bench.store.close()
    }

    /// P4: with the result, or not at all.
    @Test(arguments: [false, true]) func childrenAreKeptOverARestartWithTheResult(isRecorded: Bool) async throws {
        let end = try await end()
        let staged = try await bench.store.stage(children: end.ending.children)
        if isRecorded {
            try await bench.stop { (writer) throws(SQLiteError) in
                _ = try writer.exchange([end], children: [end.lease: staged], claim: nil, now: Self.now)
                _ = try writer.writePart(of: staged.large[1].staging.graph)
            }
        }
        try await bench.restart()
        _ = try await bench.store.rescueOrphans(maxRescues: 3, now: now)
        try await bench.awaitLongWork()
        let total = try await bench.store.counts().total
        #expect(total == (isRecorded ? 1 + 3000 + 3001 + 4 : 1))
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == total)
        try await bench.check()
        await bench.store.close()
    }

    /// Many graphs that are small by themselves, a few with jobs that already are, and lone jobs among them.
    private func manyGraphs(after parent: JobID) -> [NewGraph] {
        (0..<1500).map { index in
            switch index % 3 {
            case 0:
                var fan = bench.fan(3, input: .emptyObject)
                fan.name = "fan \(index)"
                if index % 2 == 0 { fan.jobs[0].dependencies = [NewDependency(on: .existing(parent))] }
                return fan
            case 1: return bench.reversedFan(5)
            default: return NewGraph(isGraph: false, jobs: [NewJob(definition: bench.definition)])
            }
        }
    }

    /// P4
    @Test(arguments: [false, true]) func veryManySmallGraphsOfAnAttemptAreWrittenInSmallCommits(isRestarted: Bool)
        async throws
    {
        var end = try await end()
        let graphs = manyGraphs(after: end.lease.job)
        end.ending = .succeeded(.emptyObject, children: graphs)
        let commits = CommitSizes(bench.store)
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.recorded(.succeeded)])
        if isRestarted { try await bench.restart() }
        let other = try await bench.enqueue(bench.fan(2))
        try await bench.awaitLongWork()
        expectSmall(commits)
        let jobs = graphs.reduce(0) { $0 + $1.jobs.count }
        #expect(try await bench.store.counts().total == Int64(1 + jobs + 3))
        #expect(try bench.count("SELECT count(*) FROM graph") == 1001)
        #expect(try bench.count("SELECT count(*) FROM graph WHERE name GLOB 'fan *'") == 500)
        #expect(try bench.count("SELECT count(*) FROM job WHERE graph_id IS NULL") == 501)
        try await bench.check()
        try await bench.runAll()
        #expect(try await bench.store.counts()[.succeeded] == Int64(1 + jobs + 3))
        #expect(try bench.count("SELECT count(*) FROM graph WHERE finished_ms IS NULL") == 0)
        // Graphs of later requests have numbers of their own.
        let graph = try #require(other.graph)
        #expect(try await bench.store.graph(graph)?.counts.total == 3)
        try await bench.check()
        await bench.store.close()
    }

    /// The exchange has little to do, and accepts what was prepared only for the attempt that has its lease.
    @Test func preparedChildrenAreAcceptedByTheExchange() async throws {
        var end = try await end()
        end.ending = .succeeded(.emptyObject, children: manyGraphs(after: end.lease.job))
        end.prepared = try await bench.store.prepare(end.ending.children)
        #expect(try await bench.store.counts().total == 1)
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.recorded(.succeeded)])
        try await bench.awaitLongWork()
        let total = Int64(1 + end.ending.children.reduce(0) { $0 + $1.jobs.count })
        #expect(try await bench.store.counts().total == total)
        end.prepared = try await bench.store.prepare(end.ending.children)
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.leaseLost])
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == total)
        try await bench.check()
        await bench.store.close()
    }

    @Test func oneRefusedGraphAmongVeryManyFailsTheAttempt() async throws {
        var end = try await end()
        var graphs = manyGraphs(after: end.lease.job)
        graphs[700].jobs[0].dependencies = [NewDependency(on: .new(graphs[700].jobs.count - 1))]
        graphs[700].jobs[graphs[700].jobs.count - 1].dependencies = [NewDependency(on: .new(0))]
        end.ending = .succeeded(.emptyObject, children: graphs)
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.recorded(.failed)])
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == 1)
        try await bench.check()
        await bench.store.close()
    }

    @Test func refusedChildrenFailTheAttemptAndLeaveNothing() async throws {
        var end = try await end()
        var children = children()
        children[3000].jobs[7].definition = DefinitionID(99)
        end.ending = .succeeded(.emptyObject, children: children)
        #expect(try await bench.store.exchange([end], claim: nil, now: now).finished == [.recorded(.failed)])
        try await bench.awaitLongWork()
        #expect(try await bench.store.counts().total == 1)
        try await bench.check()
        await bench.store.close()
    }
}
