import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Several daemons on one server, by the server's own clock.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct FleetTests {
    private let ok = JSONText(trusted: Array("1".utf8))

    /// A daemon whose clock is wrong.
    private func begin(_ store: PostgresJobStore, _ name: String, now: Timestamp) async throws -> HolderID {
        try await store.begin(Holder(identity: name, host: name, version: "1"), now: now).id
    }

    @Test func daemonsWhoseClocksAreHoursApartAgreeOnTheServersTime() async throws {
        let database = try TestDatabase()
        let (early, late) = (try database.open(), try database.open())
        let past = Timestamp(milliseconds: 1_000_000)
        let future = Timestamp(milliseconds: 4_000_000_000_000)
        try await early.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: past)
        let step = try #require(try await early.definitions().definitions.first).id
        let first = try await begin(early, "early", now: past)
        let second = try await begin(late, "late", now: future)
        // Neither life has ended for the other one.
        #expect(try await late.holders().filter { $0.endedAt == nil }.map(\.id) == [first, second])
        #expect(try await late.rescue(RescueRequest(maxRescues: 3), by: second, now: future).returned == [])
        let new = NewGraph(isGraph: false, jobs: [NewJob(definition: step, start: .after(.seconds(600)))])
        guard case .enqueued(let receipt) = try await late.enqueue([new], now: future)[0] else { throw Unexpected() }
        let record = try #require(try await early.job(receipt.jobs[0]))
        #expect(record.enqueuedAt > past && record.enqueuedAt < future)
        #expect(record.dueAt == record.enqueuedAt + .seconds(600))
        let claim = ClaimRequest(slots: 1)
        #expect(try await late.exchange([], claim: claim, by: second, now: future).claimed.isEmpty)
        // How far the server is ahead of this machine, which is the same machine.
        #expect(abs(early.clockOffset.milliseconds) < 60_000)
        await early.close()
        await late.close()
    }

    @Test func aLimitThatIsLoweredBelowTheSharesOfAllDaemonsStopsNoQueue() async throws {
        let database = try TestDatabase()
        let now = Timestamp(milliseconds: 0)
        let stores = [try database.open(), try database.open()]
        let queue = QueueSettings.defaultName
        try await stores[0].change(
            DefinitionChange(
                queues: [QueueChange(name: queue, limit: 16)], definitions: [Definition(name: "step", kind: "noop")]),
            now: now)
        let step = try #require(try await stores[0].definitions().definitions.first).id
        let some = Array(repeating: NewGraph(isGraph: false, jobs: [NewJob(definition: step)]), count: 16)
        let holders = [try await begin(stores[0], "a", now: now), try await begin(stores[1], "b", now: now)]
        func exchange(_ index: Int, _ ends: [ClaimedJob], slots: Int = 8) async throws -> [ClaimedJob] {
            let ends = ends.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
            return try await stores[index].exchange(
                ends, claim: ClaimRequest(slots: slots), by: holders[index], now: now
            ).claimed
        }
        // Both have eight slots, and fill them.
        _ = try await stores[0].enqueue(some, now: now)
        let first = [try await exchange(0, []), try await exchange(1, [])]
        #expect(first.map(\.count) == [8, 8])
        _ = try await stores[0].change(QueueChange(name: queue, limit: 8), now: now)
        _ = try await stores[0].enqueue(some, now: now)
        // Three end on one daemon: the limit holds for all, so nothing starts.
        #expect(try await exchange(0, Array(first[0].prefix(3))).isEmpty)
        // Without any running, all slots are used again, and no more.
        var claimed = try await exchange(0, Array(first[0].dropFirst(3)))
        claimed += try await exchange(1, first[1])
        for _ in 0..<2 { for index in 0..<2 { claimed += try await exchange(index, []) } }
        #expect(claimed.count == 8)
        for store in stores { await store.close() }
    }

    @Test(arguments: [false, true]) func idleSharesAboveALoweredLimitAreGivenUp(isFirst: Bool) async throws {
        let database = try TestDatabase()
        let now = Timestamp(milliseconds: 0)
        let stores = [try database.open(), try database.open()]
        let queue = QueueSettings.defaultName
        try await stores[0].change(
            DefinitionChange(
                queues: [QueueChange(name: queue, limit: 16)], definitions: [Definition(name: "step", kind: "noop")]),
            now: now)
        let step = try #require(try await stores[0].definitions().definitions.first).id
        let holders = [try await begin(stores[0], "a", now: now), try await begin(stores[1], "b", now: now)]
        func claim(_ index: Int) async throws -> Int {
            try await stores[index].exchange(
                [], claim: ClaimRequest(slots: 8), by: holders[index], now: now
            ).claimed.count
        }
        for index in 0..<2 { #expect(try await claim(index) == 0) }
        _ = try await stores[0].change(QueueChange(name: queue, limit: 8), now: now)
        let some = Array(repeating: NewGraph(isGraph: false, jobs: [NewJob(definition: step)]), count: 16)
        _ = try await stores[0].enqueue(some, now: now)
        var started = 0
        for _ in 0..<3 { for index in isFirst ? [0, 1] : [1, 0] { started += try await claim(index) } }
        #expect(started == 8)
        for store in stores { await store.close() }
    }

    @Test func sixteenDaemonsDoNotDeadlock() async throws {
        let database = try TestDatabase()
        let now = Timestamp(milliseconds: 0)
        var stores: [PostgresJobStore] = []
        // No life expires within this time, even on a slow machine.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(3600)
        for _ in 0..<16 { stores.append(try database.open(options)) }
        try await stores[0].change(
            DefinitionChange(
                queues: [QueueChange(name: QueueSettings.defaultName, limit: 100), QueueChange(name: "b", limit: 7)],
                definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await stores[0].definitions().definitions.first).id
        // Chains and diamonds, whose jobs end on several daemons at a time.
        func graph(_ queue: String) -> NewGraph {
            let jobs = (0..<6).map { index in
                let earlier = [index - 1, index - 2].filter { $0 >= 0 }
                return NewJob(
                    definition: step, queue: queue,
                    dependencies: earlier.map { NewDependency(on: .new($0), condition: .finished) })
            }
            return NewGraph(isGraph: true, jobs: jobs)
        }
        let ok = ok
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                let graphs = [graph("default"), graph("b")]
                group.addTask {
                    let holder = try await begin(store, "\(index)", now: now)
                    var ends: [AttemptEnd] = []
                    for round in 0..<25 {
                        let receipts = try await store.enqueue(graphs, now: now)
                        let answer = try await store.exchange(
                            ends, claim: ClaimRequest(slots: 12), by: holder, now: now)
                        ends = answer.claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
                        if round % 5 == 0, case .enqueued(let receipt) = receipts[0] {
                            _ = try await store.cancel(Array(receipt.jobs[2...3]), now: now)
                        }
                    }
                    while !ends.isEmpty {
                        let answer = try await store.exchange(
                            ends, claim: ClaimRequest(slots: 12), by: holder, now: now)
                        ends = answer.claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        // What the last daemons released after the others had stopped.
        let holder = try await begin(stores[0], "last", now: now)
        while true {
            let claimed = try await stores[0].exchange([], claim: ClaimRequest(slots: 50), by: holder, now: now).claimed
            if claimed.isEmpty { break }
            let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
            _ = try await stores[0].exchange(ends, claim: nil, by: holder, now: now)
        }
        let counts = try await stores[0].counts()
        #expect(counts.open == 0)
        #expect(counts.total == 16 * 25 * 12)
        for store in stores { await store.close() }
        let admin = try Connection(to: database.url)
        let deadlocks = try admin.run(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")[0].string(0)
        #expect(deadlocks == "0")
        #expect(try admin.run("SELECT count(*) FROM halyard.running")[0].string(0) == "0")
    }
}
