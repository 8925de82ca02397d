import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Ranges of history: how they are added, and how pruning drops them.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct HistoryTests {
    let database: TestDatabase
    let admin: Connection
    static let now = Timestamp(milliseconds: 0)
    /// The server's clock decides when jobs end, so this is after the end of every job.
    static let later = Timestamp(milliseconds: 1 << 50)
    static let width = 10
    static let tables = ["job", "done", "dependency", "attempt"]

    init() throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
    }

    // MARK: Adding ranges

    @Test func rangesAreAddedAheadWhileASnapshotAndADumpAreOpen() async throws {
        let store = try await open()
        let before = try ranges()
        #expect(before == [1, 11])
        let dump = try Connection(to: database.url)
        try dump.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        for table in Self.tables { try dump.run("LOCK TABLE halyard.\(table) IN ACCESS SHARE MODE") }
        let me = try await begin(store)
        try await Self.enqueue(3, on: store)
        // Nothing is enqueued from now on, so only the look after an exchange can add a range.
        try admin.run("SELECT setval('halyard.job_number', 15)")
        try await Self.runJobs(3, on: store, as: me)
        while try ranges() == before { await Task.yield() }
        #expect(try ranges().starts(with: [1, 11, 21]))
        try dump.run("COMMIT")
        await store.close()
    }

    @Test func numbersBeyondAllRangesGetRanges() async throws {
        let store = try await open()
        // Without exchanges, nothing is added ahead.
        for _ in 0..<9 { try await Self.enqueue(7, on: store) }
        let program = try await EnqueueingProgram(database, store, now: Self.now)
        try admin.run("SELECT setval('halyard.job_number', 10000)")
        try program.enqueue()
        #expect(try await store.jobs(JobFilter(limit: 100)).count == 64)
        try expectWholeHistory()
        await store.close()
    }

    @Test func aGraphIsInOneRange() async throws {
        let store = try await open()
        for count in [4, 4, 4, 3, 6, 9, 10, 1, 9, 25] { try await Self.enqueue(count, on: store, isGraph: true) }
        // The last graph is larger than a range.
        let divided = """
            SELECT 1 FROM halyard.graph WHERE jobs < 25
            AND (SELECT count(*) FROM halyard.range WHERE first < first_job + jobs AND below > first_job) <> 1
            """
        #expect(try admin.run(divided).count == 0)
        #expect(try await store.counts().total == 75)
        try expectWholeHistory()
        await store.close()
    }

    @Test func severalDaemonsAddTheSameRangesAtOnce() async throws {
        let stores = [try await open()] + (try (0..<7).map { _ in try database.open(Self.options) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask { for _ in 0..<10 { try await Self.enqueue(5, on: store) } }
            }
            try await group.waitForAll()
        }
        #expect(try await stores[0].counts()[.ready] == 400)
        try expectWholeHistory()
        for store in stores { await store.close() }
    }

    // MARK: Dropping ranges

    @Test func pruningAWholeRangeDeletesNoRow() async throws {
        let store = try await open()
        let me = try await begin(store)
        for _ in 0..<5 { try await Self.enqueue(5, on: store, isGraph: true, key: true) }
        try await Self.runJobs(20, on: store, as: me, failing: 3)
        try await Self.runJobs(5, on: store, as: me)
        try forbidDeleting(from: 1)
        try forbidDeleting(from: 11)
        #expect(try await Self.prune(store) == PruneStep(deleted: 25, next: nil))
        for first in [1, 11] { try expectDropped(Int64(first)) }
        try await expectEmpty(store)
        await store.close()
    }

    @Test func aRangeWithUnwantedJobsIsPrunedRowByRow() async throws {
        let store = try await open()
        let me = try await begin(store)
        try await Self.enqueue(25, on: store)
        try await Self.runJobs(25, on: store, as: me, failing: 1)
        var request = PruneRequest(finishedBefore: Self.later, outcomes: [.succeeded])
        #expect(try await Self.prune(store, request) == PruneStep(deleted: 24, next: nil))
        #expect(try await store.jobs(JobFilter()).map(\.state) == [.failed])
        let left = try #require(try await store.jobs(JobFilter()).first).id.rawValue
        #expect(try exists((left - 1) / 10 * 10 + 1))
        // The next prunes delete the last job, and drop the empty ranges.
        request.outcomes = [.failed]
        #expect(try await Self.prune(store, request) == PruneStep(deleted: 1, next: nil))
        _ = try await Self.prune(store)
        for first in [1, 11] { try expectDropped(Int64(first)) }
        try await expectEmpty(store)
        await store.close()
    }

    @Test func aRangeStaysWhileALaterJobDependsOnIt() async throws {
        let store = try await open()
        let me = try await begin(store)
        let jobs = try await Self.enqueue(12, on: store)
        try await Self.runJobs(12, on: store, as: me)
        let dependent = try await Self.enqueue(1, on: store, after: jobs[3])
        #expect(try await Self.prune(store) == PruneStep(deleted: 11, keptByDependents: 1, next: nil))
        #expect(try await store.dependencies(of: dependent[0], onlyOpen: false, limit: 9).jobs.map(\.job) == [jobs[3]])
        try await Self.runJobs(1, on: store, as: me)
        #expect(try await Self.prune(store) == PruneStep(deleted: 2, next: nil))
        try expectDropped(1)
        try await expectEmpty(store)
        await store.close()
    }

    @Test func aReaderThatStaysOpenDelaysTheDropAndNothingElse() async throws {
        let store = try await open()
        let me = try await begin(store)
        try await Self.enqueue(15, on: store)
        try await Self.runJobs(15, on: store, as: me)
        let reader = try Connection(to: database.url)
        try reader.run("BEGIN; SELECT count(*) FROM halyard.job")
        // An attempt during the read gives up and holds no lock.
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT halyard.close_range(1)")
        #expect(try other.run("SELECT halyard.drop_range(1, 0, NULL, NULL)")[0].string(0) == "busy")
        #expect(
            try other.run("SELECT 1 FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock'").count
                == 0)
        try other.run("COMMIT")
        #expect(try await Self.prune(store) == PruneStep(deleted: 15, next: nil))
        #expect(try exists(1))
        try await Self.enqueue(3, on: store)
        try await Self.runJobs(3, on: store, as: me)
        try reader.run("COMMIT")
        #expect(try await Self.prune(store) == PruneStep(deleted: 3, next: nil))
        try expectDropped(1)
        try await expectEmpty(store)
        await store.close()
    }

    @Test func aTransactionThatMayStillAddJobsDelaysTheDrop() async throws {
        let store = try await open()
        let me = try await begin(store)
        try await Self.enqueue(12, on: store)
        try await Self.runJobs(12, on: store, as: me)
        let program = try await EnqueueingProgram(database, store, now: Self.now)
        try program.connection.run("BEGIN")
        try program.enqueue()
        #expect(try await Self.prune(store) == PruneStep(deleted: 12, next: nil))
        #expect(try exists(1))
        try program.connection.run("COMMIT")
        _ = try await Self.prune(store)
        try expectDropped(1)
        #expect(try await store.counts()[.ready] == 1)
        await store.close()
    }

    @Test func noEdgeLeadsToAJobOfADroppedRange() async throws {
        let stores = [try await open()] + (try (0..<3).map { _ in try database.open(Self.options) })
        let me = try await begin(stores[0])
        var left = 0
        for _ in 0..<12 {
            let jobs = try await Self.enqueue(10, on: stores[0])
            try await Self.runJobs(10, on: stores[0], as: me)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for store in stores[1...] {
                    group.addTask {
                        var accepted = 0
                        for job in jobs.reversed() {
                            let outcome = try await Self.enqueueing(on: store, after: job)
                            if case .enqueued = outcome { accepted += 1 }
                        }
                        return accepted
                    }
                }
                group.addTask { -(try await Self.prune(stores[0])).deleted }
                return try await group.reduce(10) { $0 + $1 }
            }
            left += counts
            try await Self.runJobs(1000, on: stores[0], as: me, isExact: false)
        }
        let dangling = """
            SELECT 1 FROM halyard.dependency WHERE NOT EXISTS (SELECT 1 FROM halyard.job WHERE id = dependency.dependency)
            """
        #expect(try admin.run(dangling).count == 0)
        #expect(try await stores[0].counts().total == Int64(left))
        try expectWholeHistory()
        for store in stores { await store.close() }
    }

    @Test func aDropWhoseConnectionBreaksIsAtomic() async throws {
        let store = try await open()
        let me = try await begin(store)
        try await Self.enqueue(10, on: store, isGraph: true, key: true)
        try await Self.enqueue(1, on: store)
        try await Self.runJobs(11, on: store, as: me)
        // The connection breaks in the transaction that drops the range, and later in the one that deletes its key.
        try breakOnce("UPDATE ON halyard.range", condition: "NEW.is_dropped AND NOT OLD.is_dropped")
        await #expect(throws: StoreError.self) { try await Self.prune(store) }
        for table in Self.tables {
            #expect(try admin.run("SELECT to_regclass('halyard.\(table)_from_1')")[0].isNull(0) == false)
        }
        #expect(try await store.counts()[.succeeded] == 10)
        try admin.run("DROP TRIGGER break_once ON halyard.range; DROP FUNCTION break_once; DROP SEQUENCE breaks")
        try breakOnce("DELETE ON halyard.idempotency", condition: "true")
        await #expect(throws: StoreError.self) { try await Self.prune(store) }
        try expectDropped(1, isCleared: false)
        #expect(try await store.counts().total == 0)
        #expect(try admin.run("SELECT 1 FROM halyard.idempotency").count == 1)
        #expect(try await Self.prune(store) == PruneStep(deleted: 0, next: nil))
        try expectDropped(1)
        try await expectEmpty(store)
        await store.close()
    }

    @Test func aRestoredDumpHasItsRanges() async throws {
        let store = try await open()
        let me = try await begin(store)
        try await Self.enqueue(25, on: store)
        try await Self.runJobs(25, on: store, as: me)
        await store.close()
        let other = try TestDatabase()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "pg_dump --schema=halyard \"$0\" | psql --quiet --no-psqlrc -v ON_ERROR_STOP=1 \"$1\" > /dev/null",
            database.url, other.url,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let restored = try other.open(Self.options)
        #expect(try await restored.counts()[.succeeded] == 25)
        #expect(try await Self.prune(restored) == PruneStep(deleted: 25, next: nil))
        try await Self.enqueue(30, on: restored)
        #expect(try await restored.counts().total == 30)
        await restored.close()
    }

    // MARK: Reading few partitions

    @Test func statementsReadOnlyThePartitionsOfTheirJobs() async throws {
        var options = Self.options
        // The search for dependents of a job begins 100,000 numbers before it.
        options.rangeJobs = 150_000
        var store = try await open(options)
        try admin.run("SELECT setval('halyard.job_number', 300000)")
        let me = try await begin(store)
        try await Self.enqueue(1, on: store)
        try await Self.runJobs(1, on: store, as: me)
        #expect(try ranges().count >= 3)
        await store.close()
        let before = try reads()
        store = try database.open(options)
        let jobs = try await Self.enqueue(20, on: store, isGraph: true, key: true)
        try await Self.enqueue(20, on: store, isGraph: true, key: true)
        try await Self.enqueue(1, on: store, after: jobs[0])
        try await Self.runJobs(15, on: store, as: me, failing: 5)
        _ = try await store.cancel(Array(jobs.suffix(3)), now: Self.now)
        _ = try await store.cancel(graph: GraphID(1), now: Self.now)
        _ = try await store.result(of: jobs[0])
        _ = try await store.existing(jobs)
        _ = try await store.attempts(of: jobs[0])
        await store.close()
        let after = try reads()
        for (table, count) in after { #expect(count == before[table], "\(table)") }
    }
}
