import Jobs
import PostgresServer
import PostgresStore
import Testing

/// A server that is frozen answers nothing and closes no connection.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .timeLimit(.minutes(5))) struct FrozenServerTests {
    private let now = Timestamp(milliseconds: 0)

    @Test func aFrozenServerIsNoticedAndRecoveredFrom() async throws {
        // Other tests use the shared server, so this test starts its own.
        let server = try #require(PostgresServer())
        let url = try server.makeDatabase()
        var options = PostgresStoreOptions()
        options.answerTimeout = .seconds(2)
        options.connectTimeout = .seconds(2)
        // Nobody renews the life.
        options.lifeLength = .seconds(1_000_000)
        let store = try PostgresJobStore.open(url, options: options)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        func graph(_ key: String) -> NewGraph {
            NewGraph(
                isGraph: false, jobs: [NewJob(definition: step)], key: IdempotencyKey(name: key, fingerprint: 1))
        }
        _ = try await store.enqueue([graph("before")], now: now)
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), by: holder, now: now).claimed
        #expect(claimed.count == 1)

        let frozen = try server.freeze(url)
        await #expect(throws: StoreError.self) { try await store.enqueue([graph("during")], now: now) }
        #expect(store.condition.problem != nil)
        await #expect(throws: StoreError.self) { try await store.renew(holder, now: now) }
        await #expect(throws: StoreError.self) { try await store.jobs(JobFilter()) }

        frozen.thaw()
        // The answer may have been lost, so the caller repeats its request.
        let receipt = try await untilAnswered {
            try await store.enqueue([graph("during")], now: now)[0].receipt
        }
        #expect(receipt?.jobs.count == 1)
        let end = AttemptEnd(lease: claimed[0].lease, ending: .succeeded(.emptyObject))
        _ = try await untilAnswered { try await store.exchange([end], claim: nil, by: holder, now: now) }
        guard case .renewed = try await untilAnswered({ try await store.renew(holder, now: now) }) else {
            Issue.record("the life has ended")
            return
        }
        let counts = try await untilAnswered { try await store.counts() }
        #expect(counts[.succeeded] == 1 && counts[.ready] == 1 && counts.total == 2)
        #expect(store.condition.problem == nil)
        await store.close()
    }

    /// Repeats a request until it is answered. The time limit of the suite ends a store that does not recover.
    private func untilAnswered<Value>(_ request: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await request()
            } catch is StoreError {
                await Task.yield()
            }
        }
    }
}

extension EnqueueOutcome {
    fileprivate var receipt: EnqueueReceipt? {
        switch self {
        case .enqueued(let receipt), .duplicate(let receipt): receipt
        case .refused: nil
        }
    }
}
