import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Jobs that need a file of one daemon run only there.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct HomeTests {
    private static let one = Holder(
        identity: "0000000000000000000000000000000a", name: "one", host: "a", version: "1")
    private static let two = Holder(
        identity: "ffffffffffffffffffffffffffffffff", name: "two", host: "b", version: "1")
    private static let kept = KeptFile(
        name: "output", size: 1, sha256: String(repeating: "0", count: 64), path: "/srv/files/1")

    private let database: TestDatabase
    private let store: PostgresJobStore
    private let other: PostgresJobStore
    private let step: DefinitionID
    private let mail: DefinitionID
    private let now = Timestamp(milliseconds: 0)

    init() async throws {
        database = try TestDatabase()
        // The lives are not renewed, and on a busy machine the test may take longer than a life usually lasts.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        store = try database.open(options)
        other = try database.open(options)
        let definitions = ["noop", "mail"].map { Definition(name: $0, kind: $0) }
        try await store.change(DefinitionChange(definitions: definitions), now: now)
        let stored = try await store.definitions().definitions
        step = try #require(stored.first { $0.definition.name == "noop" }).id
        mail = try #require(stored.first { $0.definition.name == "mail" }).id
    }

    private func close() async {
        await store.close()
        await other.close()
    }

    private func begin(_ holder: Holder) async throws -> HolderID {
        try await (holder == Self.one ? store : other).begin(holder, now: now).id
    }

    /// A job whose input names a file in the spool of a daemon.
    private func job(withFileOf holder: Holder) -> NewJob {
        let name = SpoolName(keptAt: now).whole(Fingerprint(), home: holder.identity)
        let input = JSONText(trusted: Array("{\"file\":\"spool:\(name.text)/photo.jpg\"}".utf8))
        return NewJob(definition: step, input: input)
    }

    private func enqueue(_ jobs: [NewJob]) async throws -> [JobID] {
        let graph = NewGraph(isGraph: jobs.count > 1, jobs: jobs)
        guard case .enqueued(let receipt) = try await other.enqueue([graph], now: now)[0] else { throw Unexpected() }
        return receipt.jobs
    }

    private func claim(_ life: HolderID) async throws -> [ClaimedJob] {
        try await other.exchange([], claim: ClaimRequest(slots: 8), by: life, now: now).claimed
    }

    private func end(_ job: ClaimedJob, _ ending: AttemptEnd.Ending, by life: HolderID) async throws {
        let end = AttemptEnd(lease: job.lease, ending: ending)
        let answer = try await other.exchange([end], claim: nil, by: life, now: now)
        guard case .recorded = answer.finished[0] else { throw Unexpected() }
    }

    @Test func aJobWithAFileOfADaemonRunsOnlyThere() async throws {
        let (a, b) = (try await begin(Self.one), try await begin(Self.two))
        let pinned = try await enqueue([job(withFileOf: Self.one)])[0]
        let free = try await enqueue([NewJob(definition: step)])[0]
        #expect(try await claim(b).map(\.lease.job) == [free])
        #expect(try await store.home(of: pinned) == JobHome(identity: Self.one.identity, name: "one", endedAt: nil))
        #expect(try await store.home(of: free) == nil)
        #expect(try await claim(a).map(\.lease.job) == [pinned])
        await close()
    }

    @Test func aJobStaysWithItsDaemonAfterARetryAnInterruptionAndARescue() async throws {
        let (a, b) = (try await begin(Self.one), try await begin(Self.two))
        let pinned = try await enqueue([job(withFileOf: Self.one)])[0]
        let failure = JobFailure(code: "broken", message: "It broke.")
        for ending in [AttemptEnd.Ending.retry(failure, after: .zero), .interrupted] {
            let running = try await claim(a)
            #expect(running.map(\.lease.job) == [pinned])
            try await end(running[0], ending, by: a)
            #expect(try await claim(b).isEmpty)
        }
        #expect(try await claim(a).count == 1)
        try await store.leave(a, now: now)
        #expect(try await other.rescue(RescueRequest(maxRescues: 3), by: b, now: now).returned == [pinned])
        #expect(try await claim(b).isEmpty)
        let home = try #require(try await other.home(of: pinned))
        #expect(home.name == "one" && home.endedAt != nil)
        let connection = try PostgreSQL.Connection(to: database.url)
        let reason = try connection.run("SELECT reason FROM halyard.waiting")[0].string(0)
        #expect(reason.hasPrefix("waits for the daemon one, which has its file and ended at "))
        // The next life of the same daemon.
        let again = try await begin(Self.one)
        #expect(try await claim(again).map(\.lease.job) == [pinned])
        await close()
    }

    @Test func aFileOfADaemonOfAnotherDatabaseIsRefused() async throws {
        _ = try await begin(Self.two)
        let graph = NewGraph(isGraph: false, jobs: [job(withFileOf: Self.one)])
        #expect(try await store.enqueue([graph], now: now) == [.refused(.unknownHome(Self.one.identity))])
        await close()
    }

    @Test func aDependentOfAKeptFileRunsOnTheDaemonThatKeepsIt() async throws {
        let (a, b) = (try await begin(Self.one), try await begin(Self.two))
        let pinned = try await enqueue([job(withFileOf: Self.one)])[0]
        let free = try await enqueue([NewJob(definition: step)])[0]
        // One depends on both jobs, the other one only on the first.
        let dependencies = [pinned, free].map { NewDependency(on: .existing($0)) }
        let both = try await enqueue([NewJob(definition: step, dependencies: dependencies)])[0]
        let single = try await enqueue([NewJob(definition: step, dependencies: [dependencies[0]])])[0]
        let other = try await claim(b)
        #expect(other.map(\.lease.job) == [free])
        try await end(try #require(try await claim(a).first), .succeeded(Self.kept.json), by: a)
        #expect(try await store.home(of: both)?.name == "one")
        try await end(other[0], .succeeded(.emptyObject), by: b)
        #expect(try await claim(b).isEmpty)
        #expect(Set(try await claim(a).map(\.lease.job)) == [both, single])
        // A later job that depends on the final one.
        let late = try await enqueue([NewJob(definition: step, dependencies: [dependencies[0]])])[0]
        #expect(try await claim(b).isEmpty)
        #expect(try await claim(a).map(\.lease.job) == [late])
        await close()
    }

    /// Enqueues with `halyard.enqueue`, and returns the job's number.
    private func call(_ arguments: String, in connection: PostgreSQL.Connection) throws -> JobID {
        let row = try connection.run("SELECT halyard.enqueue(\(arguments))")[0]
        return JobID(try #require(Int64(row.string(0))))
    }

    @Test func aJobThatAProgramEnqueuesRunsWhereItsFilesAre() async throws {
        let (a, b) = (try await begin(Self.one), try await begin(Self.two))
        let kinds = ["noop", "mail"].map {
            KindDescription(
                name: $0, summary: "", inputType: "I", outputType: "O", accepts: $0 == "mail" ? nil : "AnyOutput",
                offers: "O", fields: ["file", "second"].map { InputField($0, .string, summary: "") })
        }
        for life in [a, b] { try await other.register(kinds, by: life, now: now) }
        let nodes = [
            GraphDefinition.Node(name: "first", definition: "noop"),
            GraphDefinition.Node(name: "second", definition: "mail", after: [.init(node: "first")]),
        ]
        try await store.change(
            DefinitionChange(graphs: [GraphDefinition(name: "pair", nodes: nodes)]), now: now)
        let connection = try PostgreSQL.Connection(to: database.url)
        func input(_ holder: Holder) throws -> String { try #require(job(withFileOf: holder).input).string }

        let pinned = try call("'noop', '\(try input(Self.one))'", in: connection)
        #expect(try await store.home(of: pinned)?.name == "one")
        let other = try call("'noop', '\(try input(Self.two))'", in: connection)
        let graph = try call(
            "'pair', '\(try input(Self.one).replacing("file\"", with: "first.file\""))'", in: connection)
        let free = try call("'noop', '{\"file\": \"spool:\", \"second\": \"spool:1-2-3\"}'", in: connection)
        #expect(Set(try await claim(b).map(\.lease.job)) == [other, free])
        let running = try await claim(a)
        #expect(Set(running.map(\.lease.job)) == [pinned, graph])
        for job in running { try await end(job, .succeeded(Self.kept.json), by: a) }

        // A dependent that may read the result file, and one that does not read files.
        let reader = try call("'noop', after => ARRAY[\(pinned)]", in: connection)
        let mail = try call("'mail', after_finished => ARRAY[\(free), \(pinned)]", in: connection)
        let pair = try call("'pair', after => ARRAY[\(pinned)]", in: connection)
        #expect(try await store.home(of: reader)?.name == "one")
        #expect(try await store.home(of: pair)?.name == "one")
        #expect(try await store.home(of: mail) == nil)

        // The function refuses the same calls as the socket.
        func problem(_ arguments: String) throws -> String? {
            do throws(PostgresError) {
                try connection.run("SELECT halyard.enqueue(\(arguments))")
                return nil
            } catch {
                return "\(error.sqlState) \(error.message)"
            }
        }
        let stranger = Holder(identity: "0000000000000000000000000000000c", host: "c", version: "1")
        #expect(
            try problem("'noop', '\(try input(stranger))'")
                == "JH002 \(EnqueueProblem.unknownHome(stranger.identity).description)")
        let both = String(try input(Self.one).dropLast()) + ",\"second\":" + String(try input(Self.two).dropFirst(8))
        #expect(try problem("'noop', '\(both)'") == "JH002 \(EnqueueWords.severalHomes)")
        await close()
    }

    @Test func aKindThatAcceptsNoOutputsRunsEverywhere() async throws {
        let (a, b) = (try await begin(Self.one), try await begin(Self.two))
        let kind = KindDescription(
            name: "mail", summary: "Mails.", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        try await store.register([kind], by: a, now: now)
        let jobs = try await enqueue([
            job(withFileOf: Self.one),
            NewJob(definition: mail, dependencies: [NewDependency(on: .new(0))]),
        ])
        try await end(try #require(try await claim(a).first), .succeeded(Self.kept.json), by: a)
        #expect(try await claim(b).map(\.lease.job) == [jobs[1]])
        await close()
    }

    @Test func pruningForgetsWhereAFileIs() async throws {
        let a = try await begin(Self.one)
        _ = try await enqueue([job(withFileOf: Self.one)])
        try await end(try #require(try await claim(a).first), .succeeded(Self.kept.json), by: a)
        let connection = try PostgreSQL.Connection(to: database.url)
        #expect(try connection.run("SELECT 1 FROM halyard.kept").count == 1)
        let request = PruneRequest(finishedBefore: Timestamp(milliseconds: 4_000_000_000_000))
        #expect(try await store.prune(request, below: nil, limit: 10).deleted == 1)
        #expect(try connection.run("SELECT 1 FROM halyard.kept").count == 0)
        await close()
    }
}
