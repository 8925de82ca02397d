import ControlProtocol
import Jobs
import PostgreSQL
import PostgresStore
import StoreControl
import Testing

/// Jobs wait for a daemon that serves their queue and kind, and `why` says so.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct ServingTests {
    private let database: TestDatabase
    private let store: PostgresJobStore
    private let control: StoreControl
    private static let now = Timestamp(milliseconds: 0)

    init() async throws {
        database = try TestDatabase()
        // The lives are not renewed, and on a busy machine the test may take longer than a life usually lasts.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        store = try database.open(options)
        control = StoreControl(store: store, database: database.url, version: "1", now: { Self.now })
        try await store.change(
            DefinitionChange(
                queues: [QueueChange(name: "gpu", limit: 10, limitPerDaemon: .atMost(1))],
                definitions: [Definition(name: "resize", kind: "resize", queue: "gpu")]), now: Self.now)
    }

    private func begin(
        _ name: String, queues: [String]? = nil, kinds: [String]? = nil, has: [String] = ["mail", "resize"]
    ) async throws -> HolderID {
        let holder = Holder(identity: name, name: name, host: "h", version: "1", queues: queues, kinds: kinds)
        let life = try await store.begin(holder, now: Self.now).id
        let descriptions = has.map {
            KindDescription(
                name: $0, summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        }
        try await store.register(descriptions, by: life, now: Self.now)
        return life
    }

    private func enqueue() async throws -> JobID {
        let id = try #require(try await store.definitions().definitions.first).id
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: id, queue: "gpu")])
        guard case .enqueued(let receipt) = try await store.enqueue([graph], now: Self.now)[0] else {
            throw Unexpected()
        }
        return receipt.jobs[0]
    }

    private func reason(_ job: JobID) throws -> String {
        try Connection(to: database.url).run("SELECT reason FROM halyard.waiting WHERE job = \(job)")[0].string(0)
    }

    @Test func aJobThatNobodyServesSaysWhy() async throws {
        let job = try await enqueue()
        #expect(try await control.why(job).reasons.contains(.noDaemon))
        #expect(try reason(job) == "no daemon runs")
        _ = try await begin("mail", queues: ["default"])
        #expect(try await control.why(job).reasons == [.unserved(queue: "gpu", kind: nil, daemon: nil)])
        #expect(try reason(job) == "no running daemon serves queue gpu")
        let other = try await begin("other", queues: ["gpu"], kinds: ["mail"])
        #expect(
            try await control.why(job).reasons == [.unserved(queue: "gpu", kind: "resize", daemon: nil)])
        #expect(try reason(job) == "no running daemon serves both queue gpu and kind resize")
        _ = try await begin("mail", queues: ["default"], has: ["mail"])
        #expect(try await control.why(job).reasons == [.unserved(queue: nil, kind: "resize", daemon: nil)])
        #expect(try reason(job) == "no running daemon serves kind resize")
        let able = try await begin("able")
        #expect(try await control.why(job).reasons == [.turn(queue: "gpu", ready: 0)])
        #expect(try reason(job) == "waits for its turn in queue gpu")
        // All daemons that serve the job are drained; another daemon is not.
        #expect(try await store.setDrained(true, identity: "able", now: Self.now))
        #expect(
            try await control.why(job).reasons == [.turn(queue: "gpu", ready: 0), .drained(daemons: ["able"])])
        for life in [other, able] { try await store.leave(life, now: Self.now) }
        await store.close()
    }

    @Test func aJobWaitsForTheLimitOfEachDaemonThatServesIt() async throws {
        let lives = [try await begin("one"), try await begin("two")]
        _ = try await begin("away", queues: ["default"])
        let jobs = [try await enqueue(), try await enqueue(), try await enqueue()]
        func claim(_ index: Int) async throws -> Int {
            try await store.exchange([], claim: ClaimRequest(slots: 5), by: lives[index], now: Self.now).claimed.count
        }
        #expect(try await claim(0) == 1)
        #expect(try await control.why(jobs[2]).reasons == [.turn(queue: "gpu", ready: 1)])
        #expect(try reason(jobs[2]) == "waits for its turn in queue gpu")
        #expect(try await claim(1) == 1)
        #expect(
            try await control.why(jobs[2]).reasons == [
                .queueLimitPerDaemon(queue: "gpu", limit: 1, daemons: ["one", "two"])
            ])
        #expect(try reason(jobs[2]) == "queue gpu is at its limit of 1 per daemon")
        await store.close()
    }
}
