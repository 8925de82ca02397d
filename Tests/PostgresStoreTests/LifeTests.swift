import Jobs
import PostgreSQL
import Testing

@testable import PostgresStore

/// Lives of daemons, by the server's own clock.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(10))) struct LifeTests {
    let database: TestDatabase
    let admin: Connection
    let now = Timestamp(milliseconds: 0)

    init() throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
    }

    private func holder(_ identity: String, machine: String = "") -> Holder {
        Holder(identity: identity, host: "host of \(machine)", version: "1", machine: machine)
    }

    /// Enqueues a job, and starts it.
    private func start(_ store: PostgresJobStore, by life: HolderID) async throws -> ClaimedJob {
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
        let claim = try await store.exchange([], claim: ClaimRequest(slots: 1), by: life, now: now)
        return try #require(claim.claimed.first)
    }

    @Test func blockedWritesDelayNoRenewal() async throws {
        let store = try database.open()
        let life = try await store.begin(holder("me"), now: now)
        // The lock that a vacuum of a whole table takes, and one that every transaction with jobs waits for.
        try admin.run(
            """
            CREATE TABLE halyard.waits (id bigint); BEGIN;
            LOCK TABLE halyard.settings, halyard.ready IN ACCESS EXCLUSIVE MODE
            """)
        let start = now
        async let blocked = store.exchange([], claim: ClaimRequest(slots: 1), by: life.id, now: start)
        let watcher = try Connection(to: database.url)
        let waits = """
            SELECT 1 FROM pg_locks
            WHERE  NOT granted
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        while try watcher.run(waits).count == 0 { await Task.yield() }
        guard case .renewed = try await store.renew(life.id, now: now) else {
            Issue.record("the life has ended")
            return
        }
        try admin.run("COMMIT")
        let answer = try await blocked
        #expect(answer.isAlive)
        await store.close()
    }

    /// A host that does not answer leaves time to try the next one before the life ends.
    @Test(arguments: [(10, 2), (30, 5), (60, 10), (600, 10)])
    func aConnectionForRenewalsIsMadeInTime(_ lease: Int, _ timeout: Int) {
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(lease)
        #expect(LifeKeeper.connectTimeout(of: options) == .seconds(timeout))
    }

    @Test func aCopyOfAMachineEndsNoLifeAndBeginsWhenItIsOver() async throws {
        let (original, copy) = (try database.open(), try database.open())
        let life = try await original.begin(holder("one", machine: "a"), now: now)
        let error = await #expect(throws: StoreError.self) {
            try await copy.begin(holder("one", machine: "b"), now: now)
        }
        #expect(error == .identityInUse(host: "host of a"))
        guard case .renewed = try await original.renew(life.id, now: now) else {
            Issue.record("the life has ended")
            return
        }
        // The same machine takes its own life over at once.
        let next = try await original.begin(holder("one", machine: "a"), now: now)
        #expect(try await original.renew(life.id, now: now) == .ended)
        // After a goodbye, or when the lease is over, the identity is free.
        try await original.leave(next.id, now: now)
        _ = try await copy.begin(holder("one", machine: "b"), now: now)
        await original.close()
        await copy.close()
    }

    @Test func twoCopiesThatBeginAtTheSameTimeGetOneLife() async throws {
        let stores = [try database.open(), try database.open(), try database.open(), try database.open()]
        let holders = stores.indices.map { holder("one", machine: "\($0)") }
        let begun = await withTaskGroup(of: Bool.self) { [now] group in
            for (store, holder) in zip(stores, holders) {
                // Only the number of successes counts; a refusal is the expected outcome of the others.
                group.addTask { (try? await store.begin(holder, now: now)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(begun == 1)
        for store in stores { await store.close() }
    }

    @Test func aRenewalFindsACancellationWhoseNotificationWasLost() async throws {
        let store = try database.open()
        let life = try await store.begin(holder("me"), now: now)
        let job = try await start(store, by: life.id)
        // As another daemon's request of which no notification came.
        try admin.run("UPDATE halyard.running SET cancel_ms = 1")
        let (changes, sink) = AsyncStream.makeStream(of: JobChange.self)
        let observation = store.observe { change in
            guard case .jobs(let jobs) = change else { return }
            for job in jobs where job.isCancelRequest { sink.yield(job) }
        }
        for _ in 1...2 { _ = try await store.renew(life.id, now: now) }
        observation.cancel()
        sink.finish()
        var found: [JobID] = []
        for await change in changes { found.append(change.job) }
        // Reported once, not at each renewal.
        #expect(found == [job.lease.job])
        await store.close()
    }
}
