import Foundation
import JobStoreContract
import Jobs
import Moving
import PostgreSQL
import PostgresStore
import SQLiteStore
import Synchronization
import Testing

@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct MoveTests {
    private struct StoppedClock: StoreClock {
        let wall = Timestamp(milliseconds: 1_750_000_000_123)
        var boot: String { "the only one" }
        var sinceBoot: Duration { .seconds(1000) }
    }

    /// Returns a file with jobs in every state.
    private func populated() async throws -> TwoDatabases {
        let both = try TwoDatabases(clock: StoppedClock())
        let file = try both.openFile()
        try await ViewTests.populate(file)
        await file.close()
        return both
    }

    // MARK: Everything is kept

    /// Each restart moves the jobs to the other store. Afterwards every job has one outcome and one result, and the counts
    /// agree with the jobs.
    @Test(
        arguments: Check.all(for: StoreCapabilities(holders: .one)).filter { $0.name.hasPrefix("p2EveryJobOf") })
    func theContractHoldsWhileJobsMoveBackAndForth(_ check: Check) async throws {
        try await Turns.shared.run {
            let databases = Mutex<TwoDatabases?>(nil)
            let moves = Mutex(0)
            let source = StoreSource(
                // The bench compares with the store that is open first.
                capabilities: StoreCapabilities(holders: .one),
                open: { clock in
                    guard let both = databases.withLock({ $0 }) else {
                        let new = try TwoDatabases(clock: clock)
                        databases.withLock { $0 = new }
                        return try new.openFile()
                    }
                    let count = moves.withLock { moves in
                        moves += 1
                        return moves
                    }
                    if count % 2 == 1 {
                        _ = try both.moveToServer()
                        return try both.openServer()
                    }
                    try both.endLeases()
                    _ = try both.moveToFile()
                    return try both.openFile()
                },
                end: { store in
                    if let file = store as? SQLiteJobStore { await file.close() }
                    if let server = store as? PostgresJobStore { await server.close() }
                })
            try await check.run(source)
            #expect(moves.withLock(\.self) >= 5)
        }
    }

    @Test func theWayBackGivesTheSameDigests() async throws {
        try await Turns.shared.run {
            let both = try await populated()
            let there = try both.moveToServer()
            try both.endLeases()
            let back = try both.moveToFile()
            let again = try both.moveToServer()
            #expect(there.digests == back.digests)
            #expect(there.digests == again.digests)
            #expect(there.counts == again.counts)
            #expect(there.counts.total == 13)
            #expect(there.counts[.running] == 0)
            #expect(there.digests[.jobs]?.count == 13)
            #expect(there.digests[.schedules]?.count == 2)
        }
    }

    @Test func theViewsShowTheSameAfterwards() async throws {
        try await Turns.shared.run {
            let both = try await populated()
            _ = try both.moveToServer()
            let connection = try PostgreSQL.Connection(to: both.url)
            for view in ["jobs", "results", "attempts", "queues", "graphs", "waiting", "definitions", "schedules"] {
                let expected = try ViewTests.rows(of: view, both.path)
                let found = try ViewTests.rows(of: view, connection)
                #expect(found.rows.count == expected.rows.count, "\(view)")
                for (row, wanted) in zip(found.rows, expected.rows) {
                    // Each daemon finds the problems of definitions again.
                    // No daemon has registered at the new database.
                    for column in expected.columns
                    where (view != "definitions" || column != "problem") && row[column] != "no daemon runs" {
                        #expect(row[column] == wanted[column], "\(view).\(column)")
                    }
                }
            }
        }
    }

    @Test func numbersAndKeysContinue() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let now = Timestamp(milliseconds: 1_750_000_000_000)
            let file = try both.openFile()
            try await file.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
            let step = try #require(try await file.definitions().definitions.first).id
            let keyed = NewGraph(
                isGraph: false, jobs: [NewJob(definition: step, queue: "default")],
                key: IdempotencyKey(name: "once", fingerprint: 7))
            let first = try await file.enqueue([keyed, NewGraph(isGraph: true, jobs: keyed.jobs)], now: now)
            // The highest numbers belong to jobs that do not exist any more.
            let last = try await file.enqueue([NewGraph(isGraph: true, jobs: keyed.jobs)], now: now)
            guard case .enqueued(let receipt) = last[0], case .enqueued(let original) = first[0] else {
                throw Unexpected()
            }
            _ = try await file.cancel(receipt.jobs, now: now)
            var pruned = try await file.prune(
                PruneRequest(finishedBefore: now + .seconds(1)), below: nil, limit: 100)
            while let next = pruned.next {
                pruned = try await file.prune(PruneRequest(finishedBefore: now + .seconds(1)), below: next, limit: 100)
            }
            await file.close()
            _ = try both.moveToServer()

            let server = try both.openServer()
            #expect(try await server.job(receipt.jobs[0]) == nil)
            let repeated = try await server.enqueue([keyed], now: now)
            #expect(repeated == [.duplicate(original)])
            let more = try await server.enqueue([NewGraph(isGraph: true, jobs: keyed.jobs)], now: now)
            guard case .enqueued(let next) = more[0] else { throw Unexpected() }
            #expect(next.jobs[0].rawValue == receipt.jobs[0].rawValue + 1)
            #expect(next.graph?.rawValue == receipt.graph.map { $0.rawValue + 1 })
            #expect(try await server.counts()[.ready] == 3)
            let queues = try await server.change(QueueChange(name: "new"), now: now)
            #expect(queues.settings.name == "new")
            await server.close()
        }
    }

    @Test func readyJobsKeepTheirOrder() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let file = try both.openFile()
            let start = Timestamp(milliseconds: 1_750_000_000_000)
            try await file.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: start)
            let step = try #require(try await file.definitions().definitions.first).id
            for index in 0..<20 {
                let job = NewJob(
                    definition: step, queue: "default", priority: index % 3 == 0 ? .high : .normal)
                _ = try await file.enqueue([NewGraph(isGraph: false, jobs: [job])], now: start)
            }
            await file.close()
            _ = try both.moveToServer()
            let server = try both.openServer()
            let life = try await server.begin(Holder(identity: "me", host: "here", version: "1"), now: start)
            var order: [Int64] = []
            while order.count < 20 {
                let claimed = try await server.exchange([], claim: ClaimRequest(slots: 1), by: life.id, now: start)
                    .claimed
                let job = try #require(claimed.first)
                order.append(job.lease.job.rawValue)
                _ = try await server.exchange(
                    [AttemptEnd(lease: job.lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))], claim: nil,
                    by: life.id, now: start)
            }
            let high = (1...20).filter { ($0 - 1) % 3 == 0 }
            let rest = (1...20).filter { ($0 - 1) % 3 != 0 }
            #expect(order == (high + rest).map(Int64.init))
            await server.close()
        }
    }

    // MARK: Files

    @Test func filesBindJobsToTheDaemonOfTheHome() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let home = "0000000000000000000000000000000a"
            let now = Timestamp(milliseconds: 1_750_000_000_000)
            let file = try both.openFile()
            let life = try await file.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
            try await file.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
            let step = try #require(try await file.definitions().definitions.first).id
            let name = SpoolName(keptAt: now).whole(Fingerprint())
            let input = JSONText(trusted: Array("{\"file\":\"spool:\(name.text)/photo.jpg\"}".utf8))
            let later = now + .seconds(1000)
            func job(_ input: JSONText? = nil, after: [NewDependency] = []) -> NewJob {
                NewJob(
                    definition: step, input: input, queue: "default", start: after.isEmpty ? .now : .at(later),
                    dependencies: after)
            }
            _ = try await file.enqueue(
                [NewGraph(isGraph: true, jobs: [job(), job(after: [NewDependency(on: .new(0))])])], now: now)
            let kept = KeptFile(
                name: "output", size: 1, sha256: String(repeating: "0", count: 64), path: "/srv/files/1")
            let claimed = try await file.exchange([], claim: ClaimRequest(slots: 9), by: life, now: now).claimed
            _ = try await file.exchange(
                [AttemptEnd(lease: claimed[0].lease, ending: .succeeded(kept.json))], claim: nil, by: life, now: now)
            _ = try await file.enqueue([job(input), job()].map { NewGraph(isGraph: false, jobs: [$0]) }, now: now)
            try await file.leave(life, now: now)
            await file.close()
            _ = try both.moveToServer(home: home)

            let server = try both.openServer()
            _ = try await server.begin(Holder(identity: home, name: "one", host: "a", version: "1"), now: now)
            #expect(try await server.home(of: JobID(2))?.identity == home)
            #expect(try await server.home(of: JobID(3))?.identity == home)
            #expect(try await server.home(of: JobID(4)) == nil)
            // A repetition needs the same file.
            let again = NewJob(definition: step, input: input, queue: "default", repeats: JobID(3))
            let repeated = try await server.enqueue([NewGraph(isGraph: false, jobs: [again])], now: now)
            guard case .enqueued(let receipt) = repeated[0] else { throw Unexpected() }
            #expect(try await server.home(of: receipt.jobs[0])?.identity == home)
            await server.close()
            let rows = try Connection(to: both.url).run("SELECT job, home FROM halyard.kept")
            #expect(rows.map { [$0.string(0), $0.string(1)] } == [["1", home]])

            // A move back accepts files of this home, and is refused because of files of other homes.
            try both.endLeases()
            let source = try PostgresMoveSource(both.url, options: PostgresStoreOptions())
            #expect(try source.jobsOfOtherHomes(than: home).isEmpty)
            let others = try source.jobsOfOtherHomes(than: nil)
            #expect(others.map(\.daemon) == ["one"])
            #expect(others.map(\.jobs) == [4])
        }
    }

    @Test func aSharedSpoolBindsNoJob() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let now = Timestamp(milliseconds: 1_750_000_000_000)
            let file = try both.openFile()
            try await file.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
            let step = try #require(try await file.definitions().definitions.first).id
            let name = SpoolName(keptAt: now).whole(Fingerprint())
            let input = JSONText(trusted: Array("{\"file\":\"spool:\(name.text)/photo.jpg\"}".utf8))
            _ = try await file.enqueue(
                [NewGraph(isGraph: false, jobs: [NewJob(definition: step, input: input, queue: "default")])], now: now)
            await file.close()
            _ = try both.moveToServer(home: "0000000000000000000000000000000a", sharesSpool: true)
            let server = try both.openServer()
            #expect(try await server.home(of: JobID(1)) == nil)
            await server.close()
        }
    }

    // MARK: Interruptions

    /// Wherever the process dies, the same call completes the move, and no daemon can use both databases.
    @Test(arguments: [true, false])
    func aMoveThatDiesAnywhereIsCompletedByTheNext(isToServer: Bool) async throws {
        var call = 0
        var isOver = false
        while !isOver {
            // Each round takes its own turn, so that other tests do not wait for all rounds.
            isOver = try await Turns.shared.run { try await moveDyingBefore(call: call, isToServer: isToServer) }
            call += 1
        }
        #expect(call > 20)
    }

    /// - Returns: True if the move was complete before this call, so that it did not die.
    private func moveDyingBefore(call: Int, isToServer: Bool) async throws -> Bool {
        let both = try await populated()
        if !isToServer {
            _ = try both.moveToServer()
            try both.endLeases()
        }
        let death = Death(beforeCall: call)
        var isOver = false
        do {
            _ =
                isToServer
                ? try both.moveToServer({ death.target($0) }, source: { death.source($0) })
                : try both.moveToFile({ death.target($0) }, source: { death.source($0) })
            isOver = true
        } catch let error where error is Death.Died || (error as? UnendedMove)?.cause is Death.Died {
            // Not both of them, whatever the call was.
            let file = Result { try both.openFile() }
            if case .success(let store) = file { await store.close() }
            let server = Result { try both.openServer() }
            if case .success(let store) = server { await store.close() }
            let usable = [(try? file.get()) != nil, (try? server.get()) != nil]
            // Before the first mark, the target is an empty database, or the file does not exist.
            if call > 1 { #expect(usable.filter(\.self).count <= 1, "call \(call)") }
            try both.endLeases()
            let report = isToServer ? try both.moveToServer() : try both.moveToFile()
            if !report.isContinued { #expect(report.counts.total == 13, "call \(call)") }
        }
        let store: any JobStore = isToServer ? try both.openServer() : try both.openFile()
        #expect(try await store.counts().total == 13, "call \(call)")
        if let server = store as? PostgresJobStore { await server.close() }
        if let file = store as? SQLiteJobStore { await file.close() }
        return isOver
    }
}
