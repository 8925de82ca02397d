import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Other roles of the server cannot run code as the daemon's role.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .timeLimit(.minutes(2)))
struct OtherRolesTests {
    private let now = Timestamp(milliseconds: 1_750_000_000_000)

    private let ok = JSONText(trusted: Array("1".utf8))

    private func withClaimedJob(
        _ database: TestDatabase, _ body: (PostgresJobStore, HolderID, Lease) async throws -> Void
    ) async throws {
        let store = try database.open()
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), by: holder, now: now).claimed
        try await body(store, holder, try #require(claimed.first).lease)
        await store.close()
    }

    @Test func functionsOfOtherSchemasAreNotCalled() async throws {
        let database = try TestDatabase()
        try Connection(to: database.url).run(
            """
            CREATE FUNCTION public.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
            CREATE FUNCTION public.width_bucket(bigint, bigint[]) RETURNS integer LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'called'; END $$
            """)
        try await withClaimedJob(database) { store, holder, lease in
            let end = AttemptEnd(lease: lease, ending: .succeeded(ok))
            let answer = try await store.exchange([end], claim: nil, by: holder, now: now)
            #expect(answer.finished == [.recorded(.succeeded)])
        }
    }

    @Test func aNotificationAloneCancelsNoJob() async throws {
        let database = try TestDatabase()
        try await withClaimedJob(database) { store, _, lease in
            let (requests, sink) = AsyncStream.makeStream(of: JobID?.self)
            let observation = store.observe { change in
                switch change {
                case .jobs(let jobs): for job in jobs where job.isCancelRequest { sink.yield(job.job) }
                case .schedules: sink.yield(nil)
                default: break
                }
            }
            var found = requests.makeAsyncIterator()
            // A forged notification of a request. Its flag "s" shows when it was heard.
            let text = "5|s|\(lease.job),,\(JobState.running.rawValue),\(lease.attempt),1,;"
            let admin = try Connection(to: database.url)
            try admin.run("SELECT pg_notify('halyard', '\(text)')")
            #expect(await found.next() == .some(nil))
            try admin.run("UPDATE halyard.running SET cancel_ms = 1; SELECT pg_notify('halyard', '\(text)')")
            #expect(await found.next() == lease.job)
            observation.cancel()
        }
    }
}
