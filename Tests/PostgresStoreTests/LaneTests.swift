import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Jobs of transactions that end late, or whose numbers come again, are found.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct LaneTests {
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
}
