import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// A database that was restored from a dump on a server whose transactions have lower numbers.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct RestoredTests {
    private let now = Timestamp(milliseconds: 0)

    @Test func itsCountsAndJobsStayRight() async throws {
        let database = try TestDatabase()
        let admin = try Connection(to: database.url)
        var store = try database.open()
        try await store.change(
            DefinitionChange(
                queues: [QueueChange(name: "other")], definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let new = NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: "other")])
        _ = try await store.enqueue([new, new], now: now)
        await store.close()
        let subject = try admin.run("SELECT -id FROM halyard.queue WHERE name = 'other'")[0].string(0)
        try admin.run("SELECT halyard.fold_tally(\(subject))")
        // The numbers of the old server, with an older sum that another daemon had not deleted yet.
        store = try database.open()
        _ = try await store.enqueue([new], now: now)
        await store.close()
        try admin.run(
            """
            INSERT INTO halyard.tally_fold SELECT subject, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0 FROM halyard.tally_fold;
            UPDATE halyard.tally_fold SET txid = txid + 1000000000;
            UPDATE halyard.tally_change SET txid = txid + 1000000000;
            SELECT setval('halyard.folded', last_value + 1000000000) FROM halyard.folded;
            UPDATE halyard.ready SET txid = txid + 1000000000
            """)
        store = try database.open()
        // The first transaction is rolled back, but a sequence is not.
        try admin.run("ALTER TABLE halyard.job ADD CONSTRAINT refuse CHECK (false) NOT VALID")
        await #expect(throws: StoreError.self) { try await store.enqueue([new], now: now) }
        try admin.run("ALTER TABLE halyard.job DROP CONSTRAINT refuse")
        _ = try await store.enqueue([new, new], now: now)
        #expect(try admin.run("SELECT last_value < 1000000000 FROM halyard.folded")[0].string(0) == "t")
        #expect(try await store.counts()[.ready] == 5)
        try admin.run("SELECT halyard.fold_tally(\(subject))")
        #expect(try await store.counts()[.ready] == 5)
        #expect(
            try admin.run("SELECT count(*) FROM halyard.tally_change WHERE subject = \(subject)")[0].string(0) == "0")
        let removal = try await store.removeQueue("other", now: now)
        guard case .used(let users) = removal else { throw Unexpected() }
        #expect(users.openJobs == 5)
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 9), by: holder, now: now).claimed
        #expect(claimed.count == 5)
        await store.close()
    }
}
