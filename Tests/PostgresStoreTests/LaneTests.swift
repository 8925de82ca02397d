import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Jobs of transactions that end late, or whose numbers come again, are found.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct LaneTests {
    let database: TestDatabase
    let admin: Connection
    let store: PostgresJobStore
    let holder: HolderID
    let step: DefinitionID
    let now = Timestamp(milliseconds: 0)
    private let ok = JSONText(trusted: Array("1".utf8))

    init() async throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
        store = try database.open()
        let change = DefinitionChange(
            queues: [QueueChange(name: "other", limit: 1)], definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: now)
        step = try #require(try await store.definitions().definitions.first).id
        holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
    }

    private func enqueue(_ queue: String) async throws -> JobID {
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: queue)])
        guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else { throw Unexpected() }
        return receipt.jobs[0]
    }

    private func claim(_ slots: Int = 8, _ ends: [ClaimedJob] = []) async throws -> [ClaimedJob] {
        let ends = ends.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
        return try await store.exchange(ends, claim: ClaimRequest(slots: slots), by: holder, now: now).claimed
    }

    /// Takes a job's row away from the store's sight, to insert it again in a transaction that ends late.
    private func moveAside(_ job: JobID) throws {
        try admin.run(
            """
            CREATE TABLE aside AS SELECT * FROM halyard.ready WHERE job = \(job.rawValue);
            DELETE FROM halyard.ready WHERE job = \(job.rawValue)
            """)
    }

    private static let insertAgain = """
        UPDATE aside SET txid = pg_current_xact_id()::text::bigint; INSERT INTO halyard.ready SELECT * FROM aside
        """

    @Test func aLateTransactionIsFoundAfterClaimsThatLeftItsLaneOut() async throws {
        let late = try await enqueue("other")
        try moveAside(late)
        let writer = try Connection(to: database.url)
        try writer.run("BEGIN; \(Self.insertAgain)")
        // A later transaction.
        _ = try admin.run("SELECT pg_current_xact_id()")
        // The claim finds no job in the lane, so the next search there begins after all these transactions.
        #expect(try await claim().isEmpty)
        // Now the only slot of the queue is taken.
        let second = try await enqueue("other")
        let running = try await claim()
        #expect(running.map(\.lease.job) == [second])
        try writer.run("COMMIT")
        // The full queue's lanes are left out.
        let elsewhere = try await enqueue("default")
        let others = try await claim()
        #expect(others.map(\.lease.job) == [elsewhere])
        #expect(try await claim(8, running + others).map(\.lease.job) == [late])
        await store.close()
    }

    /// The claim sees a row of its own transaction, whose number is after one that its snapshot does not contain.
    @Test func aClaimThatSeesItsOwnRowHidesNoJobOfAnEarlierTransaction() async throws {
        let late = try await enqueue("default")
        try moveAside(late)
        let jobs = [
            NewJob(definition: step), NewJob(definition: step, dependencies: [NewDependency(on: .new(0))]),
        ]
        _ = try await store.enqueue([NewGraph(isGraph: true, jobs: jobs)], now: now)
        let first = try await claim()
        #expect(first.count == 1)
        let writer = try Connection(to: database.url)
        try writer.run("BEGIN; \(Self.insertAgain)")
        // One transaction ends the job, and makes its dependent ready and claims it.
        let second = try await claim(8, first)
        #expect(second.count == 1)
        try writer.run("COMMIT")
        #expect(try await claim().map(\.lease.job) == [late])
        await store.close()
    }

    @Test func aNumberThatComesAgainAfterALostConnectionHidesNoJob() async throws {
        let first = try await enqueue("default")
        #expect(try await claim().map(\.lease.job) == [first])
        #expect(try await claim().isEmpty)
        let second = try await enqueue("default")
        // As a server does that has lost the numbers of its last transactions in a crash.
        try admin.run("UPDATE halyard.ready SET txid = 1; DELETE FROM halyard.floor")
        try admin.run(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM   pg_stat_activity
            WHERE  datname = current_database()
            AND    pid <> pg_backend_pid()
            """)
        #expect(try await claim().map(\.lease.job) == [second])
        await store.close()
    }

    @Test func aCancellationThatWaitsForAClaimIsRequestedOfTheRunningJob() async throws {
        let job = try await enqueue("default")
        // A claim of another daemon, which has not committed yet.
        try admin.run(
            """
            BEGIN;
            WITH taken AS (DELETE FROM halyard.ready WHERE job = \(job.rawValue) RETURNING *)
            INSERT INTO halyard.running (job, lane, attempt, tries, rescues, steady_ms, started_ms, daemon)
            SELECT job, lane, 1, tries, rescues, steady_ms, 0, \(holder.rawValue) FROM taken
            """)
        let (open, start) = (store, now)
        async let answer = open.cancel([job], now: start)
        let watcher = try Connection(to: database.url)
        while try watcher.run("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").count == 0 {
            await Task.yield()
        }
        try admin.run("COMMIT")
        #expect(try await answer == [.requested])
        #expect(try admin.run("SELECT 1 FROM halyard.running WHERE cancel_ms IS NOT NULL").count == 1)
        await store.close()
    }

    @Test func noFloorIsStoredBeyondItsOwnTransaction() async throws {
        // An empty lane, whose floor is after all transactions.
        let gone = try await enqueue("other")
        _ = try await store.cancel([gone], now: now)
        let job = try await enqueue("default")
        try admin.run("BEGIN; SELECT 1 FROM halyard.queue WHERE name = 'other' FOR UPDATE")
        // The claim has written the slots of the first queue, and waits for those of the second.
        let (open, me, start) = (store, holder, now)
        async let answer = open.exchange([], claim: ClaimRequest(slots: 8), by: me, now: start)
        let watcher = try Connection(to: database.url)
        while try watcher.run("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").count == 0 {
            await Task.yield()
        }
        for _ in 0..<5 { try watcher.run("SELECT pg_current_xact_id()") }
        try admin.run("COMMIT")
        #expect(try await answer.claimed.map(\.lease.job) == [job])
        let row = try admin.run("SELECT xmin::text, body FROM halyard.floor ORDER BY id DESC LIMIT 1")[0]
        let own = try #require(Int64(row.string(0)))
        let floors = row.string(1).split(separator: ",").map { $0.split(separator: ":").map { Int64($0) ?? 0 } }
        #expect(floors.count == 2)
        for floor in floors { #expect(floor[1] <= own) }
        await store.close()
    }
}
