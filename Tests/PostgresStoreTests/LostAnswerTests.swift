import ControlProtocol
import Jobs
import PostgresStore
import StoreControl
import Testing

/// Commits that the server has stored and whose answers were lost.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(10)))
struct LostAnswerTests {
    let database: TestDatabase
    let proxy: AnswerDroppingProxy
    let store: PostgresJobStore
    let holder: HolderID
    let step: DefinitionID
    let now = Timestamp(milliseconds: 0)
    let ok = JSONText(trusted: Array("1".utf8))

    init() async throws {
        database = try TestDatabase()
        proxy = try AnswerDroppingProxy(to: database.url)
        store = try PostgresJobStore.open(proxy.url)
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        step = try #require(try await store.definitions().definitions.first).id
        let me = Holder(identity: "me", host: "here", version: "1")
        holder = try await store.begin(me, now: now).id
        let kind = KindDescription(
            name: "noop", summary: "s", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        try await store.register([kind], by: holder, now: now)
    }

    private func enqueue(key: String? = nil) async throws -> EnqueueOutcome {
        let key = key.map { IdempotencyKey(name: $0, fingerprint: 1) }
        return try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [NewJob(definition: step)], key: key)], now: now)[0]
    }

    private func claim() async throws -> Exchange {
        try await store.exchange([], claim: ClaimRequest(slots: 1), by: holder, now: now)
    }

    /// Expects that the answer to the commit of `write` is lost.
    private func losing(_ write: () async throws -> Void) async throws {
        proxy.dropNextCommitsAnswer()
        let error = await #expect(throws: StoreError.self) { try await write() }
        guard case .unanswered = error else { throw Unexpected() }
    }

    @Test func anEnqueueWithAKeyIsStoredOnce() async throws {
        try await losing { _ = try await enqueue(key: "once") }
        guard case .duplicate(let receipt) = try await enqueue(key: "once") else { throw Unexpected() }
        #expect(try await store.jobs(JobFilter()).map(\.id) == receipt.jobs)
        #expect(store.condition.problem == nil)
        await store.close()
    }

    @Test func aControlFindsWhatWasStored() async throws {
        let clock = now
        let control = StoreControl(store: store, database: "/nonexistent/db", version: "1", now: { clock })
        var submission = Submission(.definition("step"))
        submission.key = "once"
        // The first request reads the definitions, in a transaction of its own.
        guard case .enqueued(let first)? = try await control.enqueue([Submission(.definition("step"))]).first else {
            throw Unexpected()
        }
        proxy.dropNextCommitsAnswer()
        guard case .duplicate(let receipt)? = try await control.enqueue([submission]).first else {
            throw Unexpected()
        }
        #expect(Set(try await store.jobs(JobFilter()).map(\.id)) == Set(first.jobs + receipt.jobs))
        await store.close()
    }

    @Test func aClaimIsSettledByTheHeldJobs() async throws {
        _ = try await enqueue()
        try await losing { _ = try await claim() }
        let held = try await store.held(by: holder)
        #expect(held.count == 1)
        #expect(try await claim().claimed.isEmpty)
        let end = AttemptEnd(lease: try #require(held.first).lease, ending: .succeeded(ok))
        try await losing { _ = try await store.exchange([end], claim: nil, by: holder, now: now) }
        #expect(try await store.held(by: holder).isEmpty)
        #expect(try await store.exchange([end], claim: nil, by: holder, now: now).finished == [.leaseLost])
        #expect(try await store.result(of: end.lease.job)?.value == .succeeded(ok))
        await store.close()
    }

    /// What a claim and an end have done to trials is found with the held jobs.
    @Test func trialsAreSettledByTheHeldJobs() async throws {
        for _ in 0..<2 { _ = try await enqueue() }
        var life = holder
        for _ in 0..<3 {
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 2), by: life, now: now).claimed
            #expect(claimed.count == 2)
            life = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
            _ = try await store.rescue(
                RescueRequest(maxRescues: 9, after: .crashed(cause: "a test")), by: life, now: now)
        }
        try await losing { _ = try await store.exchange([], claim: ClaimRequest(slots: 2), by: life, now: now) }
        let first = try #require(try await store.held(by: life).first)
        #expect(try await store.trials(now: now)?.running == [first.lease.job])
        #expect(try await store.exchange([], claim: ClaimRequest(slots: 2), by: life, now: now).claimed.isEmpty)
        let end = AttemptEnd(lease: first.lease, ending: .succeeded(ok))
        try await losing { _ = try await store.exchange([end], claim: nil, by: life, now: now) }
        #expect(try await store.held(by: life).isEmpty)
        #expect(try await store.exchange([], claim: ClaimRequest(slots: 2), by: life, now: now).claimed.count == 1)
        await store.close()
    }

    @Test func aRenewalIsRepeated() async throws {
        proxy.dropNextCommitsAnswer()
        guard case .renewed = try await store.renew(holder, now: now) else {
            Issue.record("the life has ended")
            return
        }
        await store.close()
    }
}
