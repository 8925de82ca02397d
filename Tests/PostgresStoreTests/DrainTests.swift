import Jobs
import PostgreSQL
import PostgresStore
import Testing

@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct DrainTests {
    private let now = Timestamp(milliseconds: 0)

    @Test func aDrainedDaemonClaimsNothingUntilItIsResumed() async throws {
        let database = try TestDatabase()
        let stores = [try database.open(), try database.open()]
        let holders = ["one", "two"].map { Holder(identity: $0, name: $0, host: "here", version: "1") }
        try await stores[0].change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await stores[0].definitions().definitions.first).id
        var lives: [HolderID] = []
        for index in 0..<2 { lives.append(try await stores[index].begin(holders[index], now: now).id) }
        func enqueue() async throws {
            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step)])
            guard case .enqueued = try await stores[0].enqueue([graph], now: now)[0] else { throw Unexpected() }
        }
        func exchange(_ index: Int, _ ends: [ClaimedJob] = []) async throws -> Exchange {
            let ends = ends.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject)) }
            return try await stores[index].exchange(ends, claim: ClaimRequest(slots: 8), by: lives[index], now: now)
        }
        func drainedAt(_ index: Int) async throws -> Timestamp? {
            try await stores[1].holders().first { $0.id == lives[index] }?.drainedAt
        }

        try await enqueue()
        let running = try await exchange(0)
        #expect(running.claimed.count == 1 && running.drainedAt == nil)
        // Another daemon's store drains it.
        #expect(try await stores[1].setDrained(true, identity: "one", now: now))
        let since = try #require(try await drainedAt(0))
        // A second request changes nothing.
        #expect(try await stores[1].setDrained(true, identity: "one", now: now))
        #expect(try await drainedAt(0) == since)
        #expect(try await drainedAt(1) == nil)
        try await enqueue()
        // The running job ends, and the next one does not start.
        let drained = try await exchange(0, running.claimed)
        #expect(drained.finished == [.recorded(.succeeded)])
        #expect(drained.claimed.isEmpty && drained.isAlive && drained.drainedAt == since)
        #expect(try await exchange(1).claimed.count == 1)
        // A restart does not resume it.
        lives[0] = try await stores[0].begin(holders[0], now: now).id
        try await enqueue()
        #expect(try await exchange(0).claimed.isEmpty)
        #expect(try await stores[0].setDrained(false, identity: "one", now: now))
        let resumed = try await exchange(0)
        #expect(resumed.claimed.count == 1 && resumed.drainedAt == nil)
        #expect(try await drainedAt(0) == nil)
        for store in stores { await store.close() }
    }

    @Test func onlyAKnownDaemonCanBeDrained() async throws {
        let database = try TestDatabase()
        let store = try database.open()
        #expect(try await !store.setDrained(true, identity: "nobody", now: now))
        await store.close()
    }
}
